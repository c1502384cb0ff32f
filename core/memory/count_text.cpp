#include "core/memory/count_text.h"

#include <fmt/format.h>

namespace clr {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string count_text(std::uint64_t count, std::string_view what, Digits digits) {
  return fmt::format("{} {}{}", digits == Digits::grouped ? grouped(count) : fmt::format("{}", count), what,
                     count == 1 ? "" : "s");
}

std::string count_text(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

} // namespace clr
