#include "extension/breakpoints/stop_verdict.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

using Kind = ThreadStop::Kind;

namespace {
Kind kind_of(const ThreadStop& stop, const std::function<bool(std::uint64_t)>& is_ours) {
  return stop.kind == Kind::unknown && is_ours(stop.pc) ? Kind::passing : stop.kind;
}
} // namespace

bool nobody_asked(std::span<const ThreadStop> stops, const std::function<bool(std::uint64_t)>& is_ours) {
  bool passing = false;
  for (const ThreadStop& stop : stops) {
    const Kind kind = kind_of(stop, is_ours);
    if (kind < Kind::passing) return false;
    passing = passing || (kind == Kind::passing && stop.at_breakpoint);
  }
  return passing;
}

std::uint64_t thread_to_show(std::span<const ThreadStop> stops) {
  const auto rank = [](const ThreadStop& stop) { return std::pair(stop.kind, stop.at_interrupt); };
  const auto most = std::ranges::min_element(stops, {}, rank);
  return most == stops.end() ? 0 : most->thread;
}

std::vector<std::uint64_t> signals_alone(std::span<const ThreadStop> stops,
                                         const std::function<bool(std::uint64_t)>& is_ours) {
  std::vector<std::uint64_t> found;
  for (const ThreadStop& stop : stops) {
    if (kind_of(stop, is_ours) >= Kind::passing) continue;
    if (!stop.at_signal) return {};
    found.push_back(stop.thread);
  }
  return found;
}

bool asked_while_running(std::span<const ThreadStop> stops,
                         const std::function<bool(std::uint64_t)>& is_ours) {
  bool interrupted = false, passing = false;
  for (const ThreadStop& stop : stops) {
    const Kind kind = kind_of(stop, is_ours);
    passing = passing || (kind == Kind::passing && stop.at_breakpoint);
    if (kind >= Kind::passing) continue;
    if (!stop.at_interrupt) return false;
    interrupted = true;
  }
  return interrupted && passing;
}

} // namespace clr::lldb_plugin
