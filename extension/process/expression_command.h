// LLDB's commands that evaluate an expression, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

struct ExpressionCommand {
  std::vector<std::string> options; // "-O"
  std::string text;                 // of the expression, without blanks around it
};

// The parts of a whole command, as LLDB has it once aliases are written out: `po x` is `dwim-print -O -- x`.
// Nothing: it is another command, or its options have no end.
std::optional<ExpressionCommand> expression_command(std::string_view command);

// What LLDB takes for the path of a variable: `order.Customer`, `list[3]`.
bool is_variable_path(std::string_view text);

std::string_view trimmed(std::string_view text);

} // namespace clr::lldb_plugin
