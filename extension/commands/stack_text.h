// Stacks as people read them.
#pragma once

#include "core/runtime/stack_reporter.h"
#include "core/runtime/stack_rows.h"
#include "extension/lldb/output.h"
#include "extension/session/stack_walk.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace clr::lldb_plugin {

// Frames that one command shows, of all its threads: 524,288 frames of 16 bytes, the smallest ones, fill a
// stack of 8 MB.
inline constexpr std::size_t max_frames = 600'000;
// Frames that it prints as JSON, of all its threads; one that stands for a run of the same is one. LLDB keeps
// what a command prints until it ends, which is 800 bytes for each of them, and copies it as it grows.
inline constexpr std::size_t max_json_frames = 300'000;

// One line a frame; `selected` is the index of the frame to mark with a star. With `fold`, frames that repeat
// are shown once, and those that the runtime puts around async methods only where one is selected. Returns
// how many of the latter were left out.
std::size_t print_frames(Output& out, const std::vector<FrameRow>& rows, std::optional<unsigned> selected,
                         bool fold = true);

// How many frames around async methods were left out in all, and how to see them; nothing for none.
void print_left_out(Output& out, std::size_t count);

// Why the stack ended, when that is worth a line; `limit`: how many frames were walked.
void print_end(Output& out, const StackReporter::End& end, std::size_t limit);

} // namespace clr::lldb_plugin
