// Whether what was read of a process still holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

// The state of a process, as far as reading it goes.
enum class ProcessLife : std::uint8_t { none, not_yet, running, stopped, exited, detached };

// Why a process in this state cannot be read; empty: it can.
std::string_view why_unreadable(ProcessLife life);
// It may come to be read, or to be read again: it has not ended.
bool is_alive(ProcessLife life);

// By the numbers that the debugger gives its stops.
class SessionAge {
public:
  enum class Need : std::uint8_t {
    nothing, // what was read is of this stop
    forget,  // memory and the whereabouts of code are to be read again, names hold
    open,    // all is to be read anew
  };
  // For who wants to know all of this stop exactly.
  Need for_stop(std::uint32_t stop) const;
  // For who looks at many stops in a row (code that is compiled) and lives with the names of the last one
  // that was wanted exactly; `runtime_known`: there was a runtime then.
  Need for_short_run(std::uint32_t stop, bool runtime_known) const;

  void opened(std::uint32_t stop) { opened_ = stop, ran_to_.reset(); }
  void forgot(std::uint32_t stop) { ran_to_ = stop; }
  // Nothing is read.
  void dropped() { opened_.reset(), ran_to_.reset(); }

private:
  std::optional<std::uint32_t> opened_; // the stop it was opened at
  std::optional<std::uint32_t> ran_to_; // the later one that it was brought to
};

} // namespace clr::lldb_plugin
