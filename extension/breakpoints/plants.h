// Places at which the process stops for the plugin.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>

namespace clr::lldb_plugin {

// Places are called by numbers, which are not used again; 0 is none.
class Plants {
public:
  Plants() = default;
  Plants(const Plants&) = delete;
  Plants& operator=(const Plants&) = delete;
  virtual ~Plants() = default;

  // An enabled place at `address`, or at the start of the function `name` that `library` exports, as soon as
  // it is loaded; 0 when the debugger makes none.
  virtual int plant(Address address) = 0;
  virtual int plant(const char* name, const char* library) = 0;
  virtual void enable(int place, bool on) = 0;
  // Only `thread` stops at it from now on, by the kernel's id; 0: every thread does, as at first.
  virtual void limit(int place, std::uint64_t thread) = 0;
  // Not while the process stands at it and that is being handled.
  virtual void remove(int place) = 0;
};

} // namespace clr::lldb_plugin
