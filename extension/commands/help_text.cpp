#include "extension/commands/help_text.h"

#include "extension/commands/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

namespace {

constexpr std::size_t text_column = 26; // where explanations begin
constexpr std::size_t text_width = 79;  // LLDB breaks longer lines of help without their indentation

using Options = std::vector<const CLI::Option*>;

Options arguments_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

// Hidden ones are in no group.
Options options_of(const CLI::App& app, bool with_help) {
  return app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty() &&
           (with_help || option != app.get_help_ptr());
  });
}

std::vector<const CLI::App*> actions_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* action) { return !action->get_group().empty(); });
}

bool takes_several(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string with_value(const std::string& name, const CLI::Option& option) {
  return option.get_type_name().empty() || option.get_items_expected_max() == 0
             ? name
             : fmt::format("{} {}", name, option.get_type_name());
}

// "-n N", "--managed": the short name where there is one.
std::string short_form(const CLI::Option& option) {
  const std::string name =
      option.get_snames().empty() ? option.get_name() : "-" + option.get_snames().front();
  return with_value(name, option);
}

// "-n N, --count N"
std::vector<std::string> all_forms(const CLI::Option& option) {
  std::vector<std::string> forms;
  for (const std::string& name : option.get_snames()) forms.push_back(with_value("-" + name, option));
  for (const std::string& name : option.get_lnames()) forms.push_back(with_value("--" + name, option));
  return forms;
}

std::string argument_form(const CLI::Option& option) {
  return option.get_name(true) + (takes_several(option) ? "..." : "");
}

// Options that exclude each other stand in one pair of brackets.
std::vector<std::string> option_parts(const CLI::App& app) {
  std::vector<std::string> parts;
  Options done;
  const Options options = options_of(app, false);
  for (const CLI::Option* option : options) {
    if (std::ranges::find(done, option) != done.end()) continue;
    std::vector<std::string> choices;
    for (const CLI::Option* other : options)
      if (other == option || option->get_excludes().contains(const_cast<CLI::Option*>(other))) {
        choices.push_back(short_form(*other));
        done.push_back(other);
      }
    const std::string text = joined(choices, " | ");
    const std::string more = takes_several(*option) && choices.size() == 1 ? "..." : "";
    parts.push_back(option->get_required() ? text + more : "[" + text + "]" + more);
  }
  return parts;
}

std::vector<std::string> argument_parts(const CLI::App& app) {
  std::vector<std::string> parts;
  for (const CLI::Option* option : arguments_of(app))
    parts.push_back(option->get_required() ? argument_form(*option) : "[" + argument_form(*option) + "]");
  return parts;
}

std::string usage_of_action(const CLI::App& action) {
  const std::string syntax = syntax_of(action);
  return syntax.empty() ? action.get_name() : action.get_name() + " " + syntax;
}

// `text` in lines of text_width at most, all but the first behind `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > indent && column + 1 + word.size() > text_width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

// One row of a list: what is explained, and beside or beneath it the explanation.
std::string row(std::string_view name, std::string_view text, std::size_t indent) {
  std::string out = std::string(indent, ' ');
  out += name;
  if (out.size() + 2 > text_column)
    out += "\n" + std::string(text_column, ' ');
  else
    out.resize(text_column, ' ');
  return out + wrapped(text, text_column) + "\n";
}

std::string option_rows(const CLI::App& app, std::size_t indent, bool with_help) {
  std::string out;
  for (const CLI::Option* option : options_of(app, with_help))
    out += row(joined(all_forms(*option), ", "), option->get_description(), indent);
  return out;
}

std::string argument_rows(const CLI::App& app, std::size_t indent) {
  std::string out;
  for (const CLI::Option* option : arguments_of(app))
    out += row(argument_form(*option), option->get_description(), indent);
  return out;
}

// Parts that are not empty, with an empty line between them.
std::string help_of(const CLI::App& app, const CommandSpec& spec) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view title, const std::string& rows) {
    if (!rows.empty()) parts.push_back(fmt::format("{}:\n{}", title, rows));
  };
  add("Arguments", argument_rows(app, 2));
  add("Options", option_rows(app, 2, true));
  std::string actions;
  for (const CLI::App* action : actions_of(app)) {
    actions += row(usage_of_action(*action), action->get_description(), 2);
    actions += argument_rows(*action, 4);
    actions += option_rows(*action, 4, false);
  }
  add("Actions", actions);
  if (!app.get_footer().empty()) parts.push_back(wrapped(app.get_footer(), 0) + "\n");
  add("Example", fmt::format("  {}\n      {}\n", spec.example, wrapped(spec.shows, 6)));
  return joined(parts, "\n");
}

class HelpFormatter final : public CLI::FormatterBase {
public:
  explicit HelpFormatter(const CommandSpec& spec) : spec_(spec) {}
  // CLI11 asks for the help of the action that was given: it stands in that of its command.
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    while (app->get_parent() != nullptr) app = app->get_parent();
    const std::string syntax = syntax_of(*app);
    return fmt::format("{}\n\nSyntax: {}{}{}\n\n{}", app->get_description(), app->get_name(),
                       syntax.empty() ? "" : " ", syntax, help_of(*app, spec_));
  }

private:
  CommandSpec spec_;
};

// In a cell of a table a bar would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string code(std::string_view text) {
  return fmt::format("`{}`", text);
}

void add_cells(std::vector<std::pair<std::string, std::string>>& cells, const CLI::App& app) {
  for (const CLI::Option* option : arguments_of(app))
    cells.emplace_back(code(argument_form(*option)), option->get_description());
  for (const CLI::Option* option : options_of(app, false)) {
    std::vector<std::string> forms;
    for (const std::string& form : all_forms(*option)) forms.push_back(code(form));
    cells.emplace_back(joined(forms, ", "), option->get_description());
  }
}

std::string reference_of(const CommandSpec& spec) {
  const Parser parser(spec);
  const CLI::App& app = parser.app();
  const std::string syntax = syntax_of(app);
  std::string out = fmt::format("## {}\n\n{}\n", app.get_name(), spec.help);
  if (spec.short_name != nullptr) out += fmt::format("Short name: {}.\n", code(spec.short_name));
  out += fmt::format("\n    {}{}{}\n", app.get_name(), syntax.empty() ? "" : " ", syntax);
  std::vector<std::pair<std::string, std::string>> cells;
  add_cells(cells, app);
  for (const CLI::App* action : actions_of(app)) {
    cells.emplace_back("**" + code(usage_of_action(*action)) + "**", action->get_description());
    add_cells(cells, *action);
  }
  if (!cells.empty()) out += "\n| | |\n|---|---|\n";
  for (const auto& [name, text] : cells) out += fmt::format("| {} | {} |\n", cell(name), cell(text));
  if (!app.get_footer().empty()) out += fmt::format("\n{}\n", app.get_footer());
  return out + fmt::format("\nExample: {} {}\n", code(spec.example), spec.shows);
}

} // namespace

std::string syntax_of(const CLI::App& app) {
  const std::vector<std::string> options = option_parts(app), arguments = argument_parts(app);
  std::vector<std::string> all = options;
  std::vector<std::string> actions;
  for (const CLI::App* action : actions_of(app)) actions.push_back(usage_of_action(*action));
  if (actions.empty()) {
    all.insert(all.end(), arguments.begin(), arguments.end());
    return joined(all, " ");
  }
  const bool one_is_needed = app.get_require_subcommand_min() > 0 || !arguments.empty();
  if (!arguments
           .empty()) { // an action stands in the place of the arguments, and of the options that go with them
    all.insert(all.end(), arguments.begin(), arguments.end());
    actions.insert(actions.begin(), joined(std::exchange(all, {}), " "));
  }
  all.push_back(
      fmt::format("{}{}{}", one_is_needed ? "(" : "[", joined(actions, " | "), one_is_needed ? ")" : "]"));
  return joined(all, " ");
}

std::string help_text(const CommandSpec& spec) {
  return "\n" + help_of(Parser(spec).app(), spec); // LLDB leaves no empty line behind the syntax
}

std::shared_ptr<CLI::FormatterBase> help_formatter(const CommandSpec& spec) {
  return std::make_shared<HelpFormatter>(spec);
}

std::string command_reference(std::span<const CommandSpec> specs) {
  std::string out =
      "# Commands\n\n"
      "This page is written by `clr help --markdown`; a test compares it with the commands.\n"
      "In LLDB `help clr` lists them, and `help clr NAME`, `clr help NAME` or `clr NAME --help` explains "
      "one.\n"
      "Brackets stand around what may be left out, `|` between things of which one is given; `...` follows "
      "what\n"
      "may be given several times. An ADDRESS is a number, a register (`$pc`), a symbol (`read+18`) or an\n"
      "expression, without spaces or in quotes.\n\n";
  for (const CommandSpec& spec : specs) out += "\n" + reference_of(spec);
  return out;
}

} // namespace clr::lldb_plugin
