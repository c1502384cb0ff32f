#include "extension/breakpoints/thrown_exceptions.h"

#include "core/types/last_name.h"

#include <algorithm>
#include <array>

namespace clr::lldb_plugin {

const std::string* ThrownExceptions::type_of(std::int32_t id) const {
  const auto found = types_.find(id);
  return found != types_.end() ? &found->second : nullptr;
}

bool ThrownExceptions::fits(std::string_view name, const std::string& wanted) {
  // Who gives type arguments means these alone.
  if (wanted.find('<') == std::string::npos)
    return is_type_called(plain_type_name(name), plain_type_name(wanted));
  const auto dotted = [](std::string_view text) {
    std::string other(text);
    std::ranges::replace(other, '+', '.');
    return other;
  };
  return is_type_called(dotted(name), dotted(wanted));
}

bool ThrownExceptions::means(std::int32_t id, Address table, const Lineage& lineage) {
  const std::string* const wanted = type_of(id);
  if (wanted == nullptr || wanted->empty()) return true;
  if (const auto known = verdicts_.find({id, table}); known != verdicts_.end()) return known->second;
  const std::vector<std::string> names = lineage(table);
  if (names.empty()) return true;
  if (verdicts_.size() >= max_verdicts) verdicts_.clear();
  const bool meant = std::ranges::any_of(names, [&](const std::string& name) { return fits(name, *wanted); });
  verdicts_[{id, table}] = meant;
  return meant;
}

bool ThrownExceptions::means_fault(std::int32_t id, std::uint32_t number) const {
  const std::string* const wanted = type_of(id);
  const std::span<const std::string_view> names = of_fault(number);
  if (wanted == nullptr || wanted->empty() || names.empty()) return true;
  return std::ranges::any_of(names, [&](std::string_view name) { return fits(name, *wanted); });
}

std::span<const std::string_view> ThrownExceptions::of_fault(std::uint32_t number) {
  static constexpr std::array<std::string_view, 3> null{"System.NullReferenceException",
                                                        "System.SystemException", "System.Exception"};
  static constexpr std::array<std::string_view, 3> access{"System.AccessViolationException",
                                                          "System.SystemException", "System.Exception"};
  static constexpr std::array<std::string_view, 4> zero{"System.DivideByZeroException",
                                                        "System.ArithmeticException",
                                                        "System.SystemException", "System.Exception"};
  static constexpr std::array<std::string_view, 4> overflow{
      "System.OverflowException", "System.ArithmeticException", "System.SystemException", "System.Exception"};
  switch (number) {
  case 0:
  case 0x42:
    return null;
  case 0xC000'0005:
    return access;
  case 0xC000'0094:
    return zero;
  case 0xC000'0095:
    return overflow;
  default:
    return {};
  }
}

} // namespace clr::lldb_plugin
