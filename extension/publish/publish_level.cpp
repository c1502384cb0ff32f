#include "extension/publish/publish_level.h"

#include <algorithm>
#include <array>

namespace clr::lldb_plugin {
namespace {

struct Command {
  std::string_view first, second;
};

// Show frames and variables of the selected thread.
constexpr std::array of_stack{
    Command{"frame", "info"},
    Command{"frame", "select"},
    Command{"frame", "variable"},
    Command{"register", "read"},
};
// Show those of other threads, too, unless they are given nothing but options.
constexpr std::array of_some_stacks{
    Command{"thread", "backtrace"},
    Command{"thread", "info"},
};
// Show frames and threads.
constexpr std::array of_stacks{
    Command{"thread", "list"},    Command{"thread", "select"},  Command{"thread", "exception"},
    Command{"thread", "siginfo"}, Command{"process", "status"},
};
// Let the process run, or concern breakpoints: without any there is nothing that waits for a name.
constexpr std::array of_breakpoints{
    Command{"process", "continue"}, Command{"process", "launch"},  Command{"process", "attach"},
    Command{"thread", "continue"},  Command{"breakpoint", "list"},
};
// Show nothing, and leave the process.
constexpr std::array of_nothing{Command{"process", "detach"}};

bool is_one_of(std::span<const Command> commands, std::span<const std::string_view> words) {
  return words.size() >= 2 && std::ranges::any_of(commands, [&](const Command& command) {
           return command.first == words[0] && command.second == words[1];
         });
}

// `words` of a command behind its name are options for which the selected thread alone is shown.
bool shows_selected(std::span<const std::string_view> words) {
  constexpr std::array<std::string_view, 6> with_value{"-c", "--count", "-s", "--start", "-e", "--extended"};
  for (std::size_t i = 0; i < words.size(); i += 2)
    if (std::ranges::find(with_value, words[i]) == with_value.end() || i + 1 == words.size()) return false;
  return true;
}

} // namespace

std::string_view to_string(PublishLevel level) {
  constexpr std::array<std::string_view, 4> names{"nothing", "stack", "stacks", "everything"};
  return names.at(static_cast<std::size_t>(level));
}

std::string_view to_string(PublishTime time) {
  constexpr std::array<std::string_view, 3> names{"auto", "asked", "stop"};
  return names.at(static_cast<std::size_t>(time));
}

PublishLevel level_of_command(std::span<const std::string_view> words, bool breakpoints) {
  if (is_one_of(of_nothing, words)) return PublishLevel::nothing;
  if (is_one_of(of_stack, words)) return PublishLevel::stack;
  if (is_one_of(of_some_stacks, words))
    return shows_selected(words.subspan(2)) ? PublishLevel::stack : PublishLevel::stacks;
  if (is_one_of(of_stacks, words)) return PublishLevel::stacks;
  if (is_one_of(of_breakpoints, words)) return breakpoints ? PublishLevel::everything : PublishLevel::stack;
  return PublishLevel::everything;
}

AskedCode code_of_command(std::span<const std::string_view> words) {
  AskedCode asked;
  if (words.size() < 2) return asked;
  const bool sets = words[0] == "breakpoint" && words[1] == "set";
  const bool looks_up =
      words.size() > 2 && words[0] == "target" && words[1] == "modules" && words[2] == "lookup";
  if (!sets && !looks_up) return asked;
  bool line = false;
  for (std::size_t i = looks_up ? 3 : 2; i < words.size(); ++i) {
    const auto is = [option = words[i]](std::string_view shortly, std::string_view whole) {
      return option == shortly || option == whole;
    };
    if (looks_up && (is("-v", "--verbose") || is("-A", "--all"))) continue;
    const bool name = is("-n", "--name") || (looks_up && is("-F", "--function"));
    const bool file = sets && is("-f", "--file"), of_line = sets && is("-l", "--line");
    const bool other = sets && (is("-s", "--shlib") || is("-o", "--one-shot") || is("-u", "--column"));
    if ((!name && !file && !of_line && !other) || ++i == words.size()) return {};
    if (name) asked.names.emplace_back(words[i]);
    if (file) asked.files.emplace_back(words[i]);
    line = line || of_line;
  }
  // A line without a file is one of the file that LLDB showed last; a file without a line restricts a name.
  if (line == asked.files.empty() || (line && !asked.names.empty())) return {};
  return asked;
}

bool shows_instructions(std::span<const std::string_view> words) {
  constexpr std::array commands{Command{"frame", "select"}, Command{"thread", "select"},
                                Command{"process", "status"}};
  return is_one_of(commands, words);
}

bool shows_registers(std::span<const std::string_view> words) {
  constexpr std::array commands{Command{"register", "read"}};
  return is_one_of(commands, words);
}

void Driver::command(std::span<const std::string_view> words, bool interpreter_reads) {
  reads_ = reads_ || interpreter_reads;
  draws_ = draws_ || (!words.empty() && words[0] == "gui");
  // LLDB 22 has `script` below `scripting`.
  if (!words.empty() && (words[0] == "script" || words[0] == "scripting" ||
                         (words[0] == "command" && words.size() >= 2 && words[1] == "script")))
    scripts_ = true;
}

PublishLevel level_of_stop(PublishTime time, const Driver& driver, bool breakpoints) {
  const bool asked = time == PublishTime::asked || (time == PublishTime::automatic && driver.by_commands());
  if (!asked || breakpoints) return PublishLevel::everything;
  return driver.shows_by_commands() ? PublishLevel::stack : PublishLevel::stacks;
}

} // namespace clr::lldb_plugin
