#include "extension/commands/break_where.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace clr::lldb_plugin {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::optional<FileLine> file_and_line(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == where.size()) return std::nullopt;
  FileLine place{where.substr(0, colon), 0};
  const char* const end = where.data() + where.size();
  const auto read = std::from_chars(where.data() + colon + 1, end, place.line);
  if (read.ec != std::errc{} || read.ptr != end || place.line == 0) return std::nullopt;
  return place;
}

std::string pattern_of(std::string_view name) {
  std::string pattern = "(^|[.])";
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "($|[( ])";
}

std::vector<std::string> names_of(const std::string& where, const std::vector<BreakTarget>& methods) {
  std::vector<std::string> names{where};
  if (where.find('.') != std::string::npos) return names;
  for (const BreakTarget& method : methods) {
    if (names.size() == max_where_names) break;
    const std::string& whole = method.user_name.empty() ? method.name : method.user_name;
    std::string name = whole.substr(0, whole.find('('));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

} // namespace clr::lldb_plugin
