// How much of the managed code a command of LLDB's needs to be told of before it runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

enum class PublishLevel : std::uint8_t {
  nothing,
  stack,      // the bodies and stubs that stand on the stacks of the threads that are shown
  stacks,     // the bodies and stubs that stand on the stacks of all threads
  everything, // all code, so that every name is found and every address described
};
// "nothing", "stack", "stacks", "everything": a word of JSON.
std::string_view to_string(PublishLevel level);
// Only what stands on stacks, and what was asked for beside them.
constexpr bool is_partial(PublishLevel level) {
  return level == PublishLevel::stack || level == PublishLevel::stacks;
}

// The user's choice of when everything is published.
enum class PublishTime : std::uint8_t {
  automatic, // asked where LLDB reads commands, stop where a program drives it
  asked,     // when a command needs it
  stop,      // when the plugin is loaded, and at each stop
};
std::string_view to_string(PublishTime time); // "auto", "asked", "stop"

// The need of the command `words`, which LLDB runs: its full name first, then its arguments. Commands that
// are not known to need less need everything; `stack` is that of the selected thread. `breakpoints`: the
// target has some that may wait for any code.
PublishLevel level_of_command(std::span<const std::string_view> words, bool breakpoints);

// A part of the code: all that is called by one of some names, or that belongs to one of some source files.
struct AskedCode {
  std::vector<std::string> names, files;
  bool empty() const { return names.empty() && files.empty(); }
  friend bool operator==(const AskedCode&, const AskedCode&) = default;
};
// The code that the command `words` asks for, when it asks for nothing else: `breakpoint set` with names or
// with a line of a file, as `b` makes of what it is given, which may restrict the module and be for once, and
// `image lookup` with names, but not with a regular expression. Then it needs this code alone. Empty: it
// needs what level_of_command says.
AskedCode code_of_command(std::span<const std::string_view> words);

// The command prints the instructions where a frame stands, if that frame has no source line: addresses in
// them are shown by name.
bool shows_instructions(std::span<const std::string_view> words);
// The command prints registers, whose values are shown by name.
bool shows_registers(std::span<const std::string_view> words);

// Who drives a debugger: somebody who types commands, or has written them down, gets what each needs. A
// program that calls LLDB's API, also a script that a command runs, looks at frames and names without any
// command.
class Driver {
public:
  // A command comes; `interpreter_reads`: LLDB's driver read it.
  void command(std::span<const std::string_view> words, bool interpreter_reads);
  void loaded(bool interpreter_reads) { reads_ = interpreter_reads; }
  // Nobody looks at code without a command.
  bool by_commands() const { return reads_ && !scripts_; }
  // Nothing but a command shows more than the innermost frames of a stop: LLDB's `gui` was never on.
  bool shows_by_commands() const { return by_commands() && !draws_; }

private:
  bool reads_ = false, scripts_ = false, draws_ = false;
};

// The level of a stop that nobody asked anything at yet; `breakpoints` as above. The threads of level `stack`
// are the selected one and those that stopped for a reason, of which LLDB shows the innermost frames.
PublishLevel level_of_stop(PublishTime time, const Driver& driver, bool breakpoints);

} // namespace clr::lldb_plugin
