// What a program said when it ended itself. Source: dotnet/runtime
// src/libraries/System.Private.CoreLib/src/System/Environment.CoreCLR.cs (FailFast).
#pragma once

#include "core/runtime/stack_reporter.h"

#include <optional>
#include <string>

namespace clr {

// The message of Environment.FailFast on the stack of the thread with kernel id `os_id`, in quotes, as the
// texts of values are; nothing when the thread is not in it, or passed none. The method pins the message
// while it calls the runtime, which is how it is found. Never throws for target data. Cost: that of
// RootReporter::walk down to that frame, or through max_fail_fast_frames.
std::optional<std::string> fail_fast_message(Runtime& runtime, StackReporter& stacks,
                                             const RegisterContext& start, std::uint64_t os_id);

// Frames in which the method is looked for. Only the runtime's own code is called by it, and what handles the
// signal.
constexpr std::size_t max_fail_fast_frames = 200;

} // namespace clr
