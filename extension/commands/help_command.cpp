// clr help: the commands, one of them, or the reference of all.
#include "extension/commands/command.h"
#include "extension/commands/help_text.h"
#include "extension/commands/parser.h"
#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace clr::lldb_plugin {

namespace {

class Help final : public CommandRun {
public:
  explicit Help(CLI::App& app) {
    app.add_option("NAME", name_, "Explain this command, such as bt; without it all are listed.")
        ->check(one_of(names()));
    // This is for docs/commands.md only. Help shows no option that is in no group.
    app.add_flag("--markdown", markdown_)->group("");
  }

  void run(Invocation& invocation) override {
    if (markdown_) return invocation.out.write(command_reference(all_commands()));
    // `clr help`, `clr` and `help clr` print the same, because LLDB writes all three.
    const OwnAnswer answer =
        run_own(invocation.debugger, fmt::format("help {}{}{}", tree_name, name_.empty() ? "" : " ", name_));
    invocation.out.write_of_lldb(answer.output);
    if (!answer.succeeded && !answer.error.empty()) invocation.out.error(answer.error);
  }

private:
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const CommandSpec& spec : all_commands()) all.emplace_back(spec.name);
    return all;
  }

  std::string name_;
  bool markdown_ = false;
};

} // namespace

CommandSpec help_command() {
  return {"help",
          nullptr,
          "List the commands, or explain one of them.",
          "clr help bt",
          "explains the options of clr bt.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Help>(app); }};
}

} // namespace clr::lldb_plugin
