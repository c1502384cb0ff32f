// A minimal core of a process or of a larger core: the pages that stacks, threads, exceptions and the methods
// on the stacks need. It opens on any machine and gives the same answers there, without the binaries.
#pragma once

#include "core/memory/core_writer.h"
#include "core/runtime/core_session.h"
#include "core/runtime/stack_reporter.h"

#include <functional>
#include <string>
#include <vector>

namespace clr {

// What is saved: a stopped process or a core, whoever reads it.
struct SaveSource {
  MemoryReader* memory = nullptr;
  Platform platform;
  std::vector<LoadedModule> modules;
  std::vector<ThreadRegisters> threads;
  std::vector<CoreNote> notes;
  std::vector<CoreSegment> segments; // access to memory; sorted by begin
  // Names native rows as StackReporter asks; the names go into the core.
  StackReporter::NativeNamer name_native;
};

// A core as a source, with the notes that it has; native code is named by symbol tables. `session` must
// outlive the result.
SaveSource source_of(CoreSession& session, const PathMap& paths);

// What is recorded.
struct SaveOptions {
  // Also what the counts of clr info and lists of all jitted methods need: a kilobyte a method.
  bool all_methods = false;
  // Asked between threads and while writing; true gives up.
  std::function<bool()> stop = {};
};

// Does once more what the commands do (clr info, clrbt all, clrip2md of every frame, clr threads, clr pe),
// records the pages that this reads, those of files on disk included, and writes them to `path` with the
// notes of the source and the names of its native frames. Throws Error{io}.
WrittenCore save_core(const SaveSource& source, const std::string& path, const SaveOptions& options = {});

} // namespace clr
