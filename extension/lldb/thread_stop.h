// The reason that one thread of a stopped process gives the user. A value without LLDB's types.
#pragma once

#include <cstdint>

namespace clr::lldb_plugin {

struct ThreadStop {
  // Most first.
  enum class Kind : std::uint8_t {
    asked,   // a stop that the user asked for, or has to know of
    unknown, // at a breakpoint that is gone by now: nobody tells whose it was
    passing, // at a breakpoint or signal at which the process goes on
    none,
  };
  Kind kind = Kind::none;
  bool at_breakpoint = false, at_signal = false;
  bool at_interrupt = false; // at the signal by which the debugger's server stops a process
  std::uint64_t thread = 0;  // the kernel's id
  std::uint64_t pc = 0;      // where it stands; only for a breakpoint that is gone
};

} // namespace clr::lldb_plugin
