// The options of one run of a command: declared and parsed with CLI11, refused in words for people.
#pragma once

#include "extension/commands/command_spec.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// CLI11's parser, whose refusals name the argument and what is allowed.
class OptionParser : public CLI::App {
public:
  using CLI::App::App;
  // `words` in reverse order, as CLI11 takes them. Throws Error{invalid_argument}; CLI::CallForHelp passes.
  void parse(std::vector<std::string>&& words);
};

// The parser of one run.
class Parser {
public:
  explicit Parser(const CommandSpec& spec);
  OptionParser& app() { return app_; }
  const OptionParser& app() const { return app_; }
  CommandRun& run() { return *run_; }

  // "clr bt --count THREAD": the command and the names of what was given, without the values, for the log.
  std::string given() const;

private:
  OptionParser app_;
  std::unique_ptr<CommandRun> run_;
};

// Numbers that an option takes, ends included.
struct Range {
  std::uint64_t least, most;
};

// The decimal number `text`. Throws Error{invalid_argument} that names `what` and the range for any other
// text.
std::uint64_t parse_count(const std::string& what, const std::string& text, Range range);

// Adds an option of the names "-n,--count", the long one last, that takes a decimal number of `range`.
template<typename Number>
CLI::Option* add_count(CLI::App& app, const std::string& names, Number& value, Range range,
                       const std::string& help) {
  const std::string name = names.substr(names.find("--"));
  const auto take = [&value, name, range](const std::string& text) {
    value = static_cast<Number>(parse_count(name, text, range));
  };
  return app.add_option_function<std::string>(names, take, help)->type_name("N");
}

// Adds -j,--json, which every command spells so.
CLI::Option* add_json(CLI::App& app, bool& json);

// Refuses any text but `words`, and lists them.
CLI::Validator one_of(std::vector<std::string> words);

// Of this option every use takes one value: what follows is an argument of the command again.
inline CLI::Option* each_takes_one(CLI::Option* option) {
  return option->allow_extra_args(false);
}

} // namespace clr::lldb_plugin
