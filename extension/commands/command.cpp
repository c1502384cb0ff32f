#include "extension/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t option_column = 22;

// The parser of one run.
class Parser {
public:
  explicit Parser(const CommandSpec& spec) : app_(spec.help) {
    app_.name(fmt::format("clr {}", spec.name));
    app_.allow_windows_style_options(false);
    app_.get_formatter()->column_width(option_column);
    run_ = spec.make(app_);
  }
  CLI::App& app() { return app_; }
  CommandRun& run() { return *run_; }

private:
  CLI::App app_;
  std::unique_ptr<CommandRun> run_;
};

// Command::Run, with the parser that its options live in.
class ParsedRun final : public Command::Run {
public:
  explicit ParsedRun(const CommandSpec& spec) : parser(spec) {}
  void run(const Turn& turn, lldb::SBDebugger& debugger, Output& out) override {
    Invocation invocation{debugger, turn, out};
    parser.run().run(invocation);
  }

  Parser parser;
};
} // namespace

std::string help_text(const CommandSpec& spec) {
  const std::string text = Parser(spec).app().help();
  return text.substr(std::min({text.find("Positionals:"), text.find("Options:"), text.size()}));
}

std::unique_ptr<CommandEntry::Run> Command::parse(std::vector<std::string> words, Output& out) {
  auto made = std::make_unique<ParsedRun>(spec_);
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
