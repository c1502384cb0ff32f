// What LLDB's own `bt` shows behind a stack, when the user wants it: the async methods that wait.
#pragma once

#include "extension/lldb/added_frames.h"
#include "extension/session/session.h"

#include <vector>

namespace clr::lldb_plugin {

// Of one thread, and of all threads together. What is more is left out, which a last frame of each
// thread concerned tells.
constexpr std::size_t max_added_frames = 1'000;
constexpr std::size_t max_all_added_frames = 10'000;

// The methods that wait for the last async method which each thread runs, or those of the chain that the
// thread waits for. Throws Error when the heap cannot be walked. Cost: that of `clrbt --async all` for
// StackPlaces::max_steps frames at most. Ends early when the user asks LLDB to stop.
std::vector<AddedFrames> async_frames(Session& session);

} // namespace clr::lldb_plugin
