#include "extension/commands/register.h"

#include "extension/commands/command.h"
#include "extension/session/script_process.h"
#include "extension/values/object_summaries.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr const char* tree_name = "clr";
constexpr const char* tree_help =
    "Managed code of .NET processes and core files: methods, stacks, the runtime.";

void tell(lldb::SBDebugger& debugger, const std::string& text) {
  lldb::SBFile errors = debugger.GetErrorFile();
  std::size_t written = 0;
  if (errors.IsValid())
    errors.Write(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), &written);
}

// Built-in commands, aliases and what other plugins and scripts added. Only completion knows them all in
// every version.
bool taken(lldb::SBCommandInterpreter& interpreter, const std::string& name) {
  lldb::SBStringList matches;
  interpreter.HandleCompletion(name.c_str(), static_cast<std::uint32_t>(name.size()), 0, -1, matches);
  for (std::uint32_t i = 0; i < matches.GetSize(); ++i) {
    std::string_view match = matches.GetStringAtIndex(i);
    while (match.ends_with(' ')) match.remove_suffix(1);
    // The first entry is what all matches have in common; of a single match it is only the rest that is not
    // typed yet.
    if (match == name ||
        (i == 0 && matches.GetSize() == 2 && match.empty() && name == matches.GetStringAtIndex(1)))
      return true;
  }
  return false;
}

void describe(lldb::SBCommand added, const std::string& help) {
  if (added.IsValid()) added.SetHelpLong(help.c_str());
}
} // namespace

bool register_commands(lldb::SBDebugger& debugger) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  const auto sessions = std::make_shared<SessionStore>();
  const auto publishing = std::make_shared<Publishing>(sessions);
  const auto breakpoints = std::make_shared<ManagedBreakpoints>(sessions, *publishing);
  publishing->set_listener(breakpoints);
  remember_store(debugger.GetID(), sessions);
  if (!register_summaries(debugger, sessions))
    tell(debugger, "lldb-clr: LLDB takes no summaries; variables are shown without text\n");

  lldb::SBCommand tree;
  if (taken(interpreter, tree_name))
    tell(debugger, fmt::format("lldb-clr: a command '{}' exists already and is kept\n", tree_name));
  else
    tree = interpreter.AddMultiwordCommand(tree_name, tree_help);

  for (const CommandSpec& spec :
       {analyze_command(), ip2md_command(), break_command(), bt_command(), disassemble_command(),
        info_command(), methods_command(), pe_command(), perfmap_command(), publish_command(),
        savecore_command(), settings_command(), source_command(), step_command(), symbolize_command(),
        symbols_command(), threads_command(), unwind_command()}) {
    const std::string help = help_text(spec);
    const std::string arguments = *spec.syntax == '\0' ? "" : fmt::format(" {}", spec.syntax);
    // LLDB owns a command from the moment it is added, so every name gets an object of its own.
    if (tree.IsValid()) {
      const std::string syntax = fmt::format("{} {}{}", tree_name, spec.name, arguments);
      describe(tree.AddCommand(spec.name,
                               std::make_unique<Command>(spec, sessions, publishing, breakpoints).release(),
                               spec.help, syntax.c_str()),
               help);
    }
    if (spec.short_name == nullptr) continue;
    if (taken(interpreter, spec.short_name)) {
      tell(debugger, fmt::format("lldb-clr: a command '{}' exists already and is kept\n", spec.short_name));
      continue;
    }
    const std::string syntax = fmt::format("{}{}", spec.short_name, arguments);
    describe(
        interpreter.AddCommand(spec.short_name,
                               std::make_unique<Command>(spec, sessions, publishing, breakpoints).release(),
                               spec.help, syntax.c_str()),
        help);
  }
  if (tree.IsValid()) publish_at_stops(debugger, publishing);
  return true;
}

} // namespace clr::lldb_plugin
