// Threads of a session and their stacks, as rows.
#pragma once

#include "core/isa/frame_jump.h"
#include "core/runtime/stack_reporter.h"
#include "core/runtime/stack_rows.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <functional>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

// The row of `thread`, with what the runtime knows of it.
ThreadRow describe_thread(Session& session, lldb::SBThread& thread, lldb::tid_t selected);

// The code that stands on stacks.
struct StackPlaces {
  std::vector<Address> positions; // where each thread stands
  std::vector<Address> places;    // an address of each managed frame and stub, ascending, each once
  // Those of `places` that stand very often on one stack which is very deep: recursion.
  std::vector<Address> repeated;
  bool whole = true; // every one of these stacks was walked to its end, or as far as `cut` tells
  // Some were not walked to their end, or not at all, because all of them together are too large (max_steps)
  // or the user asked to stop.
  bool cut = false;
  bool interrupted = false; // the user asked to stop
  // Frames of native code where they were asked for, each once: where it is, and how its caller was found.
  struct Native {
    Address pc = 0;
    bool leaf = false;
    FoundBy caller = FoundBy::context;
    bool last = false;     // stacks end there: nothing called it, or nobody knows what
    FrameJumps jumps = {}; // to the callers that the runtime's own frames told, max_frame_jumps at most
  };
  std::vector<Native> native; // ascending by the address to look up

  bool native_whole = true; // false: there were more than max_native

  static constexpr std::size_t max_native = 10'000;
  // Steps of the walks of all threads (stack::Walk::steps): the stacks of 10,000 threads with 200 frames
  // each, or some stack overflows. Threads of a core may share one stack, so their number alone is no limit.
  static constexpr std::size_t max_steps = 2'000'000;

  static constexpr std::size_t deep = 5'000; // managed frames of one stack
  static constexpr std::size_t often = 100;  // times that a place stands on it
};
// Of all threads, or of those in `threads` when it has any. Never throws for target data. Cost: that of
// StackReporter::walk_frames for max_steps frames at most, and of reading the registers of each thread, in a
// live process some hundred us. Ends the walks early when the user asks LLDB to stop.
StackPlaces stack_places(Session& session, bool with_native, std::span<const lldb::tid_t> threads);

// The stack of `thread` by the core's own walker where it knows the CPU, else by LLDB's unwinder. Never
// throws for target data.
StackReporter::End walk_stack(Session& session, lldb::SBThread& thread, const StackReporter::Options& options,
                              const std::function<bool(const FrameRow&)>& visit);

} // namespace clr::lldb_plugin
