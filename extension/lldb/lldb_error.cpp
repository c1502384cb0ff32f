#include "extension/lldb/lldb_error.h"

#include <algorithm>
#include <string_view>

namespace clr::lldb_plugin {

std::string error_line(const lldb::SBError& error) {
  const char* const text = error.GetCString();
  std::string_view rest = text == nullptr ? "" : text;
  const auto line_of = [](std::string_view from) { return from.substr(0, from.find('\n')); };
  const std::string_view first = line_of(rest);
  constexpr std::string_view mark = "error: ";
  while (!rest.empty()) {
    const std::string_view line = line_of(rest);
    if (line.starts_with(mark)) return std::string(line.substr(mark.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return std::string(first);
}

} // namespace clr::lldb_plugin
