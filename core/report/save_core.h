// Writes a minimal core of a process or of a larger core: the pages that are needed for stacks, threads,
// exceptions and the methods on the stacks, and the PDBs of these methods. It can be opened on any machine
// and gives the same answers there, without the binaries.
#pragma once

#include "core/memory/core_writer.h"
#include "core/metadata/pdb_locator.h"
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
  std::string origin;       // "process 123", "core FILE": written into the copy
  PdbSearch symbols = {};   // where PDBs are; those of methods on stacks are written into the copy
  // Names native rows as StackReporter does; the names are written into the core.
  StackReporter::NativeNamer name_native;
  // In which the PDBs that are read for the copy count, too; null: they have a limit of their own.
  std::shared_ptr<ByteRoom> room = nullptr;
};

// A core as the source, with its notes; symbol tables name its native code, and PDBs are where the session
// looks for them. `session` must outlive the result.
SaveSource source_of(CoreSession& session, const PathMap& paths);

constexpr std::uint64_t max_saved_pdbs = 128
                                         << 20; // bytes of all PDBs, compressed; of one RecordedPdbs::max_pdb

constexpr std::size_t max_saved_frames = 2'000'000; // of all stacks

// Of SaveOptions::values; the steps also of SaveOptions::heap.
constexpr std::uint64_t max_saved_stack = 8 << 20;    // bytes of one thread's stack
constexpr std::uint64_t max_saved_stacks = 1 << 30;   // bytes of all stacks
constexpr std::size_t max_saved_objects = 50'000;     // that all stacks lead to
constexpr std::uint64_t max_saved_object = 64 * 1024; // bytes of one
// Slots, nodes and values that are looked at for all of them: collections may hold each other.
constexpr std::uint64_t max_saved_steps = 20'000'000;
constexpr unsigned max_saved_levels = 3; // from a stack to an object, and from object to object

// What is kept at most; tests set less.
struct SaveLimits {
  std::uint64_t pdbs = max_saved_pdbs, stack = max_saved_stack, stacks = max_saved_stacks;
  std::size_t frames = max_saved_frames, objects = max_saved_objects;
  std::uint64_t object = max_saved_object, steps = max_saved_steps;
};

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
  std::string made_by; // program and version, for the note that says what the copy was made from
  SaveLimits limits = {};
};

struct SavedCore : WrittenCore {
  std::vector<std::string> left_out; // what a limit kept out of the copy, a sentence without its stop each
};

// Repeats the work of the commands (clr info, clrbt all, clrip2md of every frame, clr threads, clr pe),
// records the pages that this reads, including those from files on disk, and writes them to `path`, with the
// notes of the source, the names of its native frames, and the PDBs that gave lines. Throws Error{io}.
SavedCore save_core(const SaveSource& source, const std::string& path, const SaveOptions& options = {});

} // namespace clr
