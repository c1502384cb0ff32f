#include "extension/commands/plain_help.h"

#include "extension/commands/command_spec.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/newer_api.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr std::string_view without_user_commands = "--hide-user-commands";

// LLDB takes the beginning of a long option for the option.
bool hides_user_commands(std::string_view option) {
  return option.starts_with("--") ? option.starts_with("--hide-u") : option.contains('u');
}

// Of the same form as the rest of LLDB's list.
std::string own_commands() {
  std::string text = "Commands of lldb-clr (this LLDB lists no others that were added):\n\n";
  const auto add = [&](std::string_view name, std::string_view help) {
    text += fmt::format("  {:<8} -- {}\n", name, help);
  };
  add(tree_name, "Commands for managed code of .NET: clr help lists them.");
  for (const CommandSpec& spec : all_commands())
    if (spec.short_name != nullptr) add(spec.short_name, spec.help);
  return text + "\n";
}

bool list_commands(const Turn&, lldb::SBDebugger& debugger, const char** words) {
  std::string command = fmt::format("help {}", without_user_commands);
  for (const char** word = words + 1; *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!text.starts_with('-') || hides_user_commands(text)) return false; // LLDB's own is good for that
    command += fmt::format(" {}", text);
  }
  const OwnAnswer answer = run_own(debugger, command);
  if (!answer.error.empty()) write_text(debugger.GetErrorFile(), answer.error);
  if (answer.succeeded && !answer.output.empty())
    write_text(debugger.GetOutputFile(), answer.output + own_commands());
  return true;
}
} // namespace

void guard_plain_help(lldb::SBDebugger& debugger) {
  if (version_of_lldb() == 14) call_instead<list_commands>(debugger, "help");
}

} // namespace clr::lldb_plugin
