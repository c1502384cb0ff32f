#include "extension/commands/parser.h"

#include "core/memory/error.h"
#include "extension/commands/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace clr::lldb_plugin {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::invalid_argument, why);
}

// The command, or the action of it that was given.
const CLI::App& action_of(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : action_of(*given.back());
}

std::string usage_of(const CLI::App& app) {
  const std::string before = app.get_parent() == nullptr ? "" : app.get_parent()->get_name() + " ";
  const std::string syntax = syntax_of(app);
  return before + app.get_name() + (syntax.empty() ? "" : " ") + syntax;
}

std::string text_of(const CLI::ExtrasError&, const CLI::App& app) {
  const CLI::App& action = action_of(app);
  const std::vector<std::string> words = app.remaining(true);
  const std::string word = words.empty() ? "" : words.front();
  const bool option = word.starts_with('-') && word.size() > 1;
  return fmt::format("{} '{}'; the syntax is: {}", option ? "there is no option" : "there is no place for",
                     word, usage_of(action));
}

// CLI11 writes "--count: 1 required N missing" and "--count: At Most 1 required but received 2".
std::string text_of(const CLI::ArgumentMismatch& error, const CLI::App& app) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find(':'));
  if (text.find("At Most") != std::string::npos) return fmt::format("{} is given more than once", name);
  const CLI::Option* option = action_of(app).get_option_no_throw(name);
  if (option == nullptr) option = app.get_option_no_throw(name);
  return fmt::format("{} needs a value{}", name,
                     option == nullptr ? "" : fmt::format(": {}", option->get_type_name()));
}

// CLI11 writes "--native excludes --managed".
std::string text_of(const CLI::ExcludesError& error) {
  const std::string text = error.what();
  constexpr std::string_view between = " excludes ";
  const auto at = text.find(between);
  if (at == std::string::npos) return text;
  return fmt::format("{} and {} cannot be used together", text.substr(0, at),
                     text.substr(at + between.size()));
}

// CLI11 writes "GLOB requires --stat".
std::string text_of(const CLI::RequiresError& error) {
  const std::string text = error.what();
  constexpr std::string_view between = " requires ";
  const auto at = text.find(between);
  if (at == std::string::npos) return text;
  return fmt::format("{} is possible only with {}", text.substr(0, at), text.substr(at + between.size()));
}

std::string text_of(const CLI::RequiredError& error, const CLI::App& app) {
  const CLI::App& action = action_of(app);
  const auto missing = action.get_options(
      [](const CLI::Option* option) { return option->get_required() && option->count() == 0; });
  if (!missing.empty())
    return fmt::format("{} is missing; the syntax is: {}", missing.front()->get_name(true), usage_of(action));
  std::vector<std::string> names;
  for (const CLI::App* known : action.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(known->get_name());
  if (names.empty()) return error.what();
  return fmt::format("say what to do: {} takes one of {}", action.get_name(), fmt::join(names, ", "));
}

} // namespace

void OptionParser::parse(std::vector<std::string>&& words) {
  try {
    CLI::App::parse(std::move(words));
  } catch (const CLI::ExtrasError& error) {
    refuse(text_of(error, *this));
  } catch (const CLI::ArgumentMismatch& error) {
    refuse(text_of(error, *this));
  } catch (const CLI::ExcludesError& error) {
    refuse(text_of(error));
  } catch (const CLI::RequiresError& error) {
    refuse(text_of(error));
  } catch (const CLI::RequiredError& error) {
    refuse(text_of(error, *this));
  }
}

Parser::Parser(const CommandSpec& spec) : app_(spec.help) {
  app_.name(fmt::format("{} {}", tree_name, spec.name));
  app_.allow_windows_style_options(false);
  app_.set_help_flag("-h,--help", "Show this help.");
  app_.formatter(help_formatter(spec));
  run_ = spec.make(app_);
}

std::string Parser::given() const {
  std::string text = app_.get_name();
  for (const CLI::App* app = &app_; app != nullptr;) {
    const CLI::Option* before = nullptr;
    for (const CLI::Option* option : app->parse_order()) {
      if (option != before) text += " " + option->get_name(option->get_positional());
      before = option;
    }
    const std::vector<CLI::App*> actions = app->get_subcommands();
    app = actions.empty() ? nullptr : actions.back();
    if (app != nullptr) text += " " + app->get_name();
  }
  return text;
}

std::uint64_t parse_count(const std::string& what, const std::string& text, Range range) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < range.least || number > range.most)
    refuse(fmt::format("{} takes a number from {} to {}, not '{}'", what, range.least, range.most, text));
  return number;
}

CLI::Option* add_json(CLI::App& app, bool& json) {
  return app.add_flag("-j,--json", json, "Print JSON.");
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("'{}' is not one of {}", text, fmt::join(words, ", "));
  };
  return {check, ""};
}

} // namespace clr::lldb_plugin
