#include "extension/door/faults.h"

#include <cstdlib>
#include <new>
#include <stdexcept>

namespace clr::lldb_plugin {

namespace {
constexpr std::string_view names[way_count] = {"load",         "command",      "override", "stop_hook",
                                               "compile_hook", "handler_stop", "summary",  "script"};

// An exception that no handler of std::exception sees.
struct OtherFault {};
} // namespace

std::string_view to_string(Way way) {
  return names[static_cast<std::size_t>(way)];
}

FaultPlan FaultPlan::parse(std::string_view text) {
  FaultPlan plan;
  const std::size_t colon = text.find(':');
  const std::string_view kind = colon == std::string_view::npos ? "bad_alloc" : text.substr(colon + 1);
  if (kind == "error")
    plan.kind_ = Kind::error;
  else if (kind == "other")
    plan.kind_ = Kind::other;
  else if (kind != "bad_alloc")
    return plan;
  for (std::size_t i = 0; i < way_count; ++i)
    if (names[i] == text.substr(0, colon)) plan.way_ = static_cast<Way>(i);
  return plan;
}

const FaultPlan& FaultPlan::of_environment() {
  static const FaultPlan plan = [] {
    const char* const text = std::getenv("LLDB_CLR_FAIL_AT");
    return text != nullptr ? parse(text) : FaultPlan{};
  }();
  return plan;
}

void FaultPlan::at(Way way) const {
  if (way_ != way) return;
  switch (kind_) {
  case Kind::bad_alloc:
    throw std::bad_alloc();
  case Kind::error:
    throw std::runtime_error("a fault that a test asked for");
  case Kind::other:
    throw OtherFault{};
  }
}

} // namespace clr::lldb_plugin
