#include "extension/commands/register.h"

#include "extension/commands/command.h"
#include "extension/commands/help_text.h"
#include "extension/commands/parser.h"
#include "extension/session/script_process.h"
#include "extension/values/object_summaries.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr const char* tree_help = "Commands for managed code of .NET, in processes and core files: methods, "
                                  "stacks, exceptions, the runtime.";

void tell(lldb::SBDebugger& debugger, const std::string& text) {
  lldb::SBFile errors = debugger.GetErrorFile();
  std::size_t written = 0;
  if (errors.IsValid())
    errors.Write(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), &written);
}

// Asks completion, because it alone knows all names in every version: built-in commands, aliases, and those
// that other plugins and scripts added.
bool taken(lldb::SBCommandInterpreter& interpreter, const std::string& name) {
  lldb::SBStringList matches;
  interpreter.HandleCompletion(name.c_str(), static_cast<std::uint32_t>(name.size()), 0, -1, matches);
  for (std::uint32_t i = 0; i < matches.GetSize(); ++i) {
    std::string_view match = matches.GetStringAtIndex(i);
    while (match.ends_with(' ')) match.remove_suffix(1);
    // The first entry is the part that all matches have in common. When there is one match, it is only the
    // rest that is not typed yet.
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

  for (const CommandSpec& spec : all_commands()) {
    const std::string help = help_text(spec);
    const std::string arguments = syntax_of(Parser(spec).app());
    // LLDB owns a command from the moment it is added, so every name gets an object of its own.
    const auto command = [&] {
      return std::make_unique<Command>(spec, sessions, publishing, breakpoints).release();
    };
    if (tree.IsValid()) {
      const std::string syntax =
          fmt::format("{} {}{}{}", tree_name, spec.name, arguments.empty() ? "" : " ", arguments);
      describe(tree.AddCommand(spec.name, command(), spec.help, syntax.c_str()), help);
    }
    if (spec.short_name == nullptr) continue;
    if (taken(interpreter, spec.short_name)) {
      tell(debugger, fmt::format("lldb-clr: a command '{}' exists already and is kept\n", spec.short_name));
      continue;
    }
    const std::string syntax =
        fmt::format("{}{}{}", spec.short_name, arguments.empty() ? "" : " ", arguments);
    describe(interpreter.AddCommand(spec.short_name, command(), spec.help, syntax.c_str()), help);
  }
  if (tree.IsValid()) publish_at_stops(debugger, publishing);
  return true;
}

} // namespace clr::lldb_plugin
