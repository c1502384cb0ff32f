#include "extension/commands/register.h"

#include "extension/commands/command.h"
#include "extension/commands/help_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/plain_help.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/own_command.h"
#include "extension/process/visits.h"
#include "extension/values/object_summaries.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

namespace clr::lldb_plugin {

namespace {
constexpr const char* tree_help = "Commands for managed code of .NET, in processes and core files: methods, "
                                  "stacks, exceptions, the runtime.";

bool is_free(lldb::SBDebugger& debugger, const char* name) {
  if (!name_is_taken(debugger, name)) return true;
  notice(debugger, fmt::format("a command '{}' exists already and is kept", name));
  return false;
}

// What is typed for LLDB's own commands and is the beginning of a short name as well: LLDB refuses a
// beginning of several names.
constexpr std::pair<const char*, const char*> abbreviations[] = {{"fin", "finish"},   {"th", "thread"},
                                                                 {"thr", "thread"},   {"thre", "thread"},
                                                                 {"threa", "thread"}, {"sy", "sys_bt"}};

void keep_abbreviations(lldb::SBDebugger& debugger) {
  for (const auto& [text, meant] : abbreviations)
    if (!name_is_taken(debugger, text)) run_own(debugger, fmt::format("command alias {} {}", text, meant));
}

// Another copy of this plugin, such as the one that LLDB found in its folder of plugins, has been loaded
// before.
bool another_copy_serves(lldb::SBDebugger& debugger) {
  if (!name_is_taken(debugger, tree_name)) return false;
  const auto words_of = [](std::string_view text) {
    std::string words;
    for (const char c : text)
      if (c != ' ' && c != '\n') words += c;
    return words;
  };
  return words_of(run_own(debugger, fmt::format("help {}", tree_name)).output)
      .starts_with(words_of(tree_help));
}

void describe(lldb::SBCommand added, const std::string& help) {
  if (added.IsValid()) added.SetHelpLong(help.c_str());
}
} // namespace

bool register_commands(lldb::SBDebugger& debugger) {
  if (another_copy_serves(debugger)) {
    notice(debugger, "the plugin is loaded already, and stays as it is: `clr version` tells from which file");
    return true;
  }
  std::shared_ptr<Door> door = doors().find(debugger.GetID());
  if (!door) door = Workspace::make(debugger);
  return door->pass(Way::load, false, [&](const Turn& turn) {
    if (!register_summaries(debugger))
      notice(debugger, "LLDB takes no summaries; variables are shown without text");
    lldb::SBCommand tree;
    if (is_free(debugger, tree_name)) tree = add_tree(debugger, tree_name, tree_help);
    for (const CommandSpec& spec : all_commands()) {
      const std::string help = help_text(spec);
      const std::string arguments = syntax_of(Parser(spec).app());
      const auto add = [&](lldb::SBCommand to, const char* name, std::string syntax, bool is_short) {
        if (!arguments.empty()) syntax += " " + arguments;
        describe(add_command(debugger, to, name, std::make_unique<Command>(spec, door, is_short), spec.help,
                             syntax.c_str()),
                 help);
      };
      // LLDB owns a command, so every name gets an object of its own.
      if (tree.IsValid()) add(tree, spec.name, fmt::format("{} {}", tree_name, spec.name), false);
      if (spec.short_name != nullptr && is_free(debugger, spec.short_name))
        add({}, spec.short_name, spec.short_name, true);
    }
    keep_abbreviations(debugger);
    if (!tree.IsValid()) return true;
    guard_plain_help(debugger);
    follow_commands(debugger);
    Workspace::of(turn).loaded(debugger);
    return true;
  });
}

} // namespace clr::lldb_plugin
