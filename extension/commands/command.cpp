#include "extension/commands/command.h"

#include "extension/commands/parser.h"

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

namespace {
// Command::Run, with the parser that its options live in.
class ParsedRun final : public Command::Run {
public:
  explicit ParsedRun(const CommandSpec& spec) : parser(spec) {}
  std::string asked() const override { return parser.given(); }
  void run(const Turn& turn, lldb::SBDebugger& debugger, Output& out) override {
    Invocation invocation{debugger, turn, out};
    parser.run().run(invocation);
  }

  Parser parser;
};
} // namespace

std::unique_ptr<CommandEntry::Run> Command::parse(std::vector<std::string> words, Output& out) {
  CommandSpec spec = spec_;
  if (is_short_ && spec.of_short_name != nullptr) {
    MeantCommand meant = spec.of_short_name(std::move(words));
    spec = command_named(meant.name);
    words = std::move(meant.words);
  }
  auto made = std::make_unique<ParsedRun>(spec);
  std::reverse(words.begin(), words.end()); // as CLI11 takes them
  try {
    made->parser.app().parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    out.write(made->parser.app().help());
    return nullptr;
  }
  return made;
}

} // namespace clr::lldb_plugin
