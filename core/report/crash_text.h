// Why a thread failed, in one sentence.
#pragma once

#include "core/runtime/stack_reporter.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace clr {

// "System.InvalidOperationException (no order 4711) in Ns.Orders.Find(int) at Orders.cs:31:9; " before `how`,
// which says how the thread with kernel id `os_id` ended: by its exception in flight, with the innermost
// method of its trace that is not the framework's; or by what it told Environment.FailFast. `how` alone when
// neither is known. Never throws for target data. Cost: that of fail_fast_message and
// ExceptionReporter::read.
std::string crash_text(Runtime& runtime, StackReporter& stacks, const RegisterContext& start,
                       std::uint64_t os_id, std::string_view how);

constexpr std::size_t max_crash_message = 200; // bytes of the message of an exception

} // namespace clr
