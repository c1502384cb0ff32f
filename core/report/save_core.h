// Writes a minimal core of a process or of a larger core: the pages that are needed for stacks, threads,
// exceptions and the methods on the stacks. It can be opened on any machine and gives the same answers there,
// without the binaries.
#pragma once

#include "core/memory/core_writer.h"
#include "core/runtime/core_session.h"
#include "core/runtime/stack_reporter.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace clr {

// The source of the copy: a stopped process or a core, whatever reads it.
struct SaveSource {
  MemoryReader* memory = nullptr;
  Platform platform;
  std::vector<LoadedModule> modules;
  std::vector<ThreadRegisters> threads;
  std::vector<CoreNote> notes;
  std::vector<CoreSegment> segments; // access rights of the memory; sorted by begin
  std::vector<FileMapping> files;    // empty when they are not known
  Address program_name = 0; // where the kernel put it, above the environment (AT_EXECFN); 0: not known
  // Names native rows as StackReporter does; the names are written into the core.
  StackReporter::NativeNamer name_native;
};

// A core as the source, with its notes; symbol tables name its native code. `session` must outlive the
// result.
SaveSource source_of(CoreSession& session, const PathMap& paths);

// The contents of the copy.
struct SaveOptions {
  // Also the pages for the counts of clr info and for lists of all jitted methods: about a kilobyte per
  // method.
  bool all_methods = false;
  // Also the managed heap with everything that the commands about objects, async methods, locks and the
  // thread pool read: about as much as the heap holds.
  bool heap = false;
  // Also the values of arguments and locals: the stacks, the objects that they hold, and what those refer to.
  bool values = false;
  // With `values`: reads by a runtime that records what else a debugger needs of the managed code at
  // `places`, for example the types of its variables. May be empty.
  std::function<void(Runtime& runtime, std::span<const Address> places)> describe = {};
  // Called between threads and while writing; returning true gives up.
  std::function<bool()> stop = {};
};

// Repeats the work of the commands (clr info, clrbt all, clrip2md of every frame, clr threads, clr pe),
// records the pages that this reads, including those from files on disk, and writes them to `path`, with the
// notes of the source and the names of its native frames. Throws Error{io}.
WrittenCore save_core(const SaveSource& source, const std::string& path, const SaveOptions& options = {});

// Of SaveOptions::values.
constexpr std::uint64_t max_saved_stack = 8 << 20;    // bytes of one thread's stack
constexpr std::size_t max_saved_objects = 50'000;     // that all stacks lead to
constexpr std::uint64_t max_saved_object = 64 * 1024; // bytes of one
constexpr unsigned max_saved_levels = 3;              // from a stack to an object, and from object to object

} // namespace clr
