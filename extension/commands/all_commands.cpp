#include "extension/commands/command_spec.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace clr::lldb_plugin {

std::span<const CommandSpec> all_commands() {
  static const std::array commands = {
      alloc_command(),       analyze_command(),  arrays_command(),   async_command(),
      break_command(),       bt_command(),       core_command(),     deadlocks_command(),
      finalizers_command(),  gcdump_command(),   gcinfo_command(),   handles_command(),
      heap_command(),        help_command(),     info_command(),     ip2md_command(),
      locks_command(),       methods_command(),  object_command(),   objects_command(),
      pe_command(),          perfmap_command(),  pool_command(),     publish_command(),
      refs_command(),        retained_command(), report_command(),   root_command(),
      roots_command(),       savecore_command(), settings_command(), source_command(),
      static_command(),      statics_command(),  step_command(),     strings_command(),
      symbolize_command(),   symbols_command(),  threads_command(),  timers_command(),
      disassemble_command(), unwind_command(),   version_command()};
  return commands;
}

const CommandSpec& command_named(std::string_view name) {
  return *std::ranges::find(all_commands(), name, &CommandSpec::name);
}

} // namespace clr::lldb_plugin
