// A command as it is declared: its names, its help, its options, and what a run of it does.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

struct Invocation;

// One run of a command: the values of its options, and the work.
class CommandRun {
public:
  virtual ~CommandRun() = default;
  // Whatever it throws becomes the command's "error:" line.
  virtual void run(Invocation& invocation) = 0;
};

// A command of the tree, and its words.
struct MeantCommand {
  std::string name;
  std::vector<std::string> words;
};

struct CommandSpec {
  const char* name;       // within the tree `clr`
  const char* short_name; // beside the tree; null: none
  const char* help;       // one sentence
  const char* example;    // a command line that works, and
  const char* shows;      // what it does, in a few words
  // Makes a run whose options have been added to `app`. Syntax and help are generated from them.
  std::unique_ptr<CommandRun> (*make)(CLI::App& app);
  // What these words mean behind the short name, where they have forms of their own there. Null: what they
  // mean behind the name.
  MeantCommand (*of_short_name)(std::vector<std::string> words) = nullptr;
};

// Every command of the plugin is in a file of its own.
CommandSpec alloc_command();
CommandSpec analyze_command();
CommandSpec arrays_command();
CommandSpec async_command();
CommandSpec ip2md_command();
CommandSpec break_command();
CommandSpec bt_command();
CommandSpec core_command();
CommandSpec deadlocks_command();
CommandSpec disassemble_command();
CommandSpec finalizers_command();
CommandSpec gcdump_command();
CommandSpec gcinfo_command();
CommandSpec handles_command();
CommandSpec heap_command();
CommandSpec help_command();
CommandSpec info_command();
CommandSpec locks_command();
CommandSpec methods_command();
CommandSpec object_command();
CommandSpec objects_command();
CommandSpec pe_command();
CommandSpec perfmap_command();
CommandSpec pool_command();
CommandSpec publish_command();
CommandSpec refs_command();
CommandSpec report_command();
CommandSpec retained_command();
CommandSpec root_command();
CommandSpec roots_command();
CommandSpec savecore_command();
CommandSpec settings_command();
CommandSpec source_command();
CommandSpec statics_command();
CommandSpec step_command();
CommandSpec static_command();
CommandSpec strings_command();
CommandSpec symbolize_command();
CommandSpec symbols_command();
CommandSpec threads_command();
CommandSpec timers_command();
CommandSpec unwind_command();
CommandSpec version_command();

// All of them, by name.
std::span<const CommandSpec> all_commands();
// The one of this name; there must be one.
const CommandSpec& command_named(std::string_view name);

// The command of LLDB below which they all are.
inline constexpr const char* tree_name = "clr";

} // namespace clr::lldb_plugin
