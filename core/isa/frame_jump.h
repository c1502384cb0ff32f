// Callers that no rule of the code leads to: a walk that was lost in native code goes on at what the runtime
// noted when managed code was left.
#pragma once

#include "core/isa/registers.h"

#include <vector>

namespace clr {

// In the frame whose stack pointer is `sp`.
struct FrameJump {
  Address sp = 0;
  RegisterContext caller; // what is known of the registers of the next frame; pc and sp are
};

// Of frames at one instruction.
using FrameJumps = std::vector<FrameJump>;
constexpr std::size_t max_frame_jumps = 500;

} // namespace clr
