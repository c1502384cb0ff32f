#include "extension/lldb/entries.h"

#include "extension/lldb/notice.h"

#include <atomic>
#include <string_view>

namespace clr::lldb_plugin {

void HitEntry::attach(lldb::SBBreakpoint& breakpoint) const {
  breakpoint.SetCallback(raw_, nullptr);
}

lldb::SBTypeSummary SummaryEntry::make(std::uint32_t options, const char* description) const {
  return lldb::SBTypeSummary::CreateWithCallback(raw_, options, description);
}

bool CommandEntry::DoExecute(lldb::SBDebugger debugger, char** arguments,
                             lldb::SBCommandReturnObject& result) {
  try {
    Output out(debugger, result);
    try {
      result.SetStatus(lldb::eReturnStatusSuccessFinishResult);
      std::vector<std::string> words;
      for (char** word = arguments; word != nullptr && *word != nullptr; ++word) words.emplace_back(*word);
      if (const std::unique_ptr<Run> made = parse(std::move(words), out))
        door_->call(
            Way::command, [&](const Turn& turn) { made->run(turn, debugger, out); },
            debug_log().on() ? made->asked() : std::string());
    } catch (...) {
      out.error(text_of(std::current_exception()));
    }
    out.flush();
  } catch (...) {
    result.SetError("lldb-clr: the error itself could not be told");
  }
  return result.Succeeded();
}

lldb::SBCommand add_command(lldb::SBDebugger& debugger, lldb::SBCommand tree, const char* name,
                            std::unique_ptr<CommandEntry> command, const char* help, const char* syntax) {
  // LLDB owns a command from the moment it is added.
  if (tree.IsValid()) return tree.AddCommand(name, command.release(), help, syntax);
  return debugger.GetCommandInterpreter().AddCommand(name, command.release(), help, syntax);
}

lldb::SBCommand add_tree(lldb::SBDebugger& debugger, const char* name, const char* help) {
  return debugger.GetCommandInterpreter().AddMultiwordCommand(name, help);
}

// Only completion knows all names in every version.
bool name_is_taken(lldb::SBDebugger& debugger, const std::string& name) {
  lldb::SBStringList matches;
  debugger.GetCommandInterpreter().HandleCompletion(name.c_str(), static_cast<std::uint32_t>(name.size()), 0,
                                                    -1, matches);
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

namespace entries {

std::string file_name_of(const lldb::SBModuleSpec& module) {
  const char* const name = lldb::SBModuleSpec(module).GetFileSpec().GetFilename();
  return name != nullptr ? name : "";
}

lldb::SBError no_module() {
  lldb::SBError none;
  none.SetErrorString("the plugin has no modules");
  return none;
}

std::uint64_t debugger_of(const lldb::SBTarget& target) {
  return target.GetDebugger().GetID();
}

void nobody_there(lldb::SBTarget target, Way way) noexcept {
  static std::atomic<bool> told;
  if (told.exchange(true)) return;
  try {
    notice(target.GetDebugger(), fmt::format("a breakpoint of the plugin's ({}) was hit in a debugger that "
                                             "has no commands of the plugin any more; the process goes on",
                                             to_string(way)));
  } catch (...) {
    // Without memory there is nothing to say it with.
  }
}

void set_overrides(lldb::SBDebugger& debugger, std::span<const char* const> commands,
                   lldb::CommandOverrideCallback raw) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  const auto id = static_cast<std::uintptr_t>(debugger.GetID());
  // By its number the debugger is not kept.
  for (const char* command : commands)
    interpreter.SetCommandOverrideCallback(command, raw, reinterpret_cast<void*>(id));
}

std::int64_t index_or_none(std::optional<std::uint64_t> index) {
  return index ? static_cast<std::int64_t>(*index) : std::int64_t{-1};
}

bool print(lldb::SBStream& stream, const std::string& text) {
  if (text.empty()) return false;
  stream.Print(printable(text).c_str());
  return true;
}

} // namespace entries
} // namespace clr::lldb_plugin
