#include "extension/lldb/breakpoint_conditions.h"

#include "extension/lldb/newer_api.h"

#include <algorithm>
#include <atomic>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr std::string_view blanks = "\t ";

std::string_view without_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string_view text_of(const char* condition) {
  return condition == nullptr ? std::string_view() : std::string_view(condition);
}

// Never one that a condition was compiled with.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last;
  return ++last;
}

void renew(lldb::SBBreakpoint& breakpoint, std::uint64_t number) {
  const std::string common(text_of(breakpoint.GetCondition()));
  const auto locations = std::min(max_locations, static_cast<std::uint32_t>(breakpoint.GetNumLocations()));
  for (std::uint32_t i = 0; i < locations; ++i) {
    lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(i);
    const std::string own(text_of(location.GetCondition()));
    if (!own.empty() && without_blanks(own) != without_blanks(common))
      location.SetCondition(respelled(own, number).c_str());
  }
  if (!common.empty()) breakpoint.SetCondition(respelled(common, number).c_str());
}
} // namespace

std::string respelled(std::string condition, std::uint64_t number) {
  condition.resize(without_blanks(condition).size());
  for (; number != 0; number /= 2) condition += blanks[number % 2];
  return condition;
}

void renew_conditions(lldb::SBTarget& target) {
  const std::uint64_t number = next_number();
  for (std::uint32_t i = 0; i < target.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target.GetBreakpointAtIndex(i);
    renew(breakpoint, number);
  }
}

bool modules_stay(lldb::SBTarget& target) {
  const unsigned version = version_of_lldb();
  if (version != 21 && version != 22) return false;
  for (std::uint32_t i = 0; i < target.GetNumBreakpoints(); ++i)
    if (!text_of(target.GetBreakpointAtIndex(i).GetCondition()).empty()) return true;
  return false;
}

} // namespace clr::lldb_plugin
