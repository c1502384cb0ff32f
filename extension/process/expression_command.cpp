#include "extension/process/expression_command.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>

namespace clr::lldb_plugin {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::optional<ExpressionCommand> expression_command(std::string_view command) {
  constexpr std::array<std::string_view, 2> names{"expression", "dwim-print"};
  const auto* const name =
      std::ranges::find_if(names, [&](std::string_view n) { return command.starts_with(n); });
  if (name == names.end()) return std::nullopt;
  ExpressionCommand found;
  std::string_view text = trimmed(command.substr(name->size()));
  // An alias may end its options, too: `p` is `dwim-print --`.
  while (text.starts_with('-')) {
    const std::size_t end = text.find("-- ");
    if (end == std::string_view::npos) return std::nullopt;
    for (const auto word : std::views::split(text.substr(0, end), ' '))
      if (!word.empty()) found.options.emplace_back(word.begin(), word.end());
    text = trimmed(text.substr(end + 3));
  }
  found.text = text;
  return found;
}

bool is_variable_path(std::string_view text) {
  constexpr std::string_view others = "_.[]<>";
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, [&](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.contains(c);
         });
}

} // namespace clr::lldb_plugin
