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
  bool whole = true; // every one of these stacks was walked to its end
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

  static constexpr std::size_t deep = 5'000; // managed frames of one stack
  static constexpr std::size_t often = 100;  // times that a place stands on it
};
// Of all threads, or of those in `threads` when it has any. Never throws for target data. Cost: that of
// StackReporter::walk_frames, and of reading the registers of each thread, in a live process some hundred us.
StackPlaces stack_places(Session& session, bool with_native, std::span<const lldb::tid_t> threads);

// The stack of `thread` by the core's own walker where it knows the CPU, else by LLDB's unwinder. Never
// throws for target data.
StackReporter::End walk_stack(Session& session, lldb::SBThread& thread, const StackReporter::Options& options,
                              const std::function<bool(const FrameRow&)>& visit);

} // namespace clr::lldb_plugin
