// Faults on purpose, for tests: one way into the plugin throws each time it is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

// The ways by which LLDB comes to the plugin.
enum class Way : std::uint8_t {
  load,         // PluginInitialize
  command,      // a command of the plugin's
  override,     // before a command of LLDB's
  stop_hook,    // at a stop, by the hook that runs `clr publish update`
  compile_hook, // a breakpoint where the runtime has compiled a method
  handler_stop, // a breakpoint where a step stops in an exception handler, or at a throw
  summary,      // the text beside a variable, and what stands below it
  script,       // the C interface
};
inline constexpr std::size_t way_count = 8;

// "compile_hook" and so on.
std::string_view to_string(Way way);

// Throws at one way. Tests set it by the environment variable LLDB_CLR_FAIL_AT, which is read once:
// WAY[:bad_alloc|:error|:other], by default bad_alloc; `error` is a std::runtime_error, `other` an exception
// of no standard type. Anything else means no fault.
class FaultPlan {
public:
  FaultPlan() = default;
  static FaultPlan parse(std::string_view text);
  static const FaultPlan& of_environment();

  // Throws when `way` is the one.
  void at(Way way) const;

private:
  enum class Kind : std::uint8_t { bad_alloc, error, other };
  std::optional<Way> way_;
  Kind kind_ = Kind::bad_alloc;
};

} // namespace clr::lldb_plugin
