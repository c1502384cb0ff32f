#include "core/symbols/map_method_name.h"

#include <fmt/format.h>

namespace clr {

std::optional<MapMethodName> parse_map_method(std::string_view text) {
  const std::size_t colons = text.find("::");
  if (colons == std::string_view::npos || colons == 0) return std::nullopt;
  MapMethodName parsed;
  // The owner begins behind the last blank outside of its type arguments.
  std::size_t begin = colons;
  for (int depth = 0; begin > 0; --begin) {
    const char c = text[begin - 1];
    if (c == ']' || c == '>') ++depth;
    if (c == '[' || c == '<') --depth;
    if (c == ' ' && depth <= 0) break;
  }
  // "[app] " with the blank is the assembly. Brackets of a return type's arguments do not stand as a separate
  // word.
  if (begin >= 2 && text[begin - 2] == ']') {
    const std::size_t open = text.rfind('[', begin - 2);
    if (open == 0 || (open != std::string_view::npos && text[open - 1] == ' '))
      parsed.assembly = text.substr(open + 1, begin - 3 - open);
  }
  const std::string_view owner = text.substr(begin, colons - begin), rest = text.substr(colons + 2);
  if (owner.empty() || rest.empty()) return std::nullopt;
  const std::string_view method = rest.substr(0, rest.find_first_of("(["));
  parsed.name = fmt::format("{}.{}", owner.substr(0, owner.find('[')), method);
  parsed.full_name = fmt::format("{}.{}", owner, rest);
  return parsed;
}

} // namespace clr
