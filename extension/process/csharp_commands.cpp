#include "extension/process/csharp_commands.h"

#include "extension/lldb/notice.h"
#include "extension/lldb/own_command.h"
#include "extension/lldb/published_module.h"
#include "extension/process/expression_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace clr::lldb_plugin {

namespace {
// Without blanks, and each arrow as a dot.
std::string with_dots(std::string text) {
  std::erase(text, ' ');
  for (std::size_t at = 0; (at = text.find("->", at)) != std::string::npos;) text.replace(at, 2, ".");
  return text;
}
} // namespace

bool evaluate_csharp(lldb::SBDebugger& debugger, const std::string& command, const DescribeTypes& describe) {
  const std::optional<ExpressionCommand> parts = expression_command(command);
  if (!parts || parts->text.empty()) return false;
  lldb::SBFrame frame = selected_published_frame(debugger.GetSelectedTarget());
  if (!frame.IsValid()) return false;
  const bool is_path =
      is_variable_path(parts->text) &&
      frame.GetValueForVariablePath(parts->text.c_str(), lldb::eNoDynamicValues).GetError().Success();
  if (is_path) return false;
  const std::optional<std::string> meant = csharp_at(frame, parts->text, describe);
  // LLDB's commands make an arrow of a dot behind a pointer; its own answer reaches a script, too, which
  // reads what a command returns.
  if (!meant || with_dots(*meant) == with_dots(parts->text)) return false;
  const std::string name = command.substr(0, command.find(' '));
  const OwnAnswer answer =
      run_own(debugger, fmt::format("{} {} -- {}", name, fmt::join(parts->options, " "), *meant));
  write_text(debugger.GetOutputFile(), answer.output);
  write_text(debugger.GetErrorFile(), answer.error);
  return true;
}

} // namespace clr::lldb_plugin
