// What LLDB's command `thread plan list` prints of a thread: its API does not tell of plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace clr::lldb_plugin {

enum class StepUnderWay : std::uint8_t { none, over, into, out, other };

// The steps of a thread that have begun and not ended. A step that a stop broke off waits below those that
// begin behind it, and goes on when these have ended.
struct StepsUnderWay {
  std::size_t count = 0;
  // The first behind the `kept` ones, for which LLDB may have begun others: that out of a frame without
  // lines, say.
  StepUnderWay asked = StepUnderWay::none;
  // That has ended at this stop, which a breakpoint may be the reason of that stands where it ended.
  StepUnderWay ended = StepUnderWay::none;
};

// Of the text for one thread, which had `kept` steps before.
StepsUnderWay steps_in_list(std::string_view text, std::size_t kept = 0);
// Whether the text names a plan that has come to its end at this stop.
bool names_completed(std::string_view text);

} // namespace clr::lldb_plugin
