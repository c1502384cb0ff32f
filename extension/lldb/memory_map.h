// The memory map of a process, as Linux prints it.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace clr::lldb_plugin {

struct MappedRegion {
  Address begin = 0, end = 0;
  bool mapped = false, readable = false, writable = false, executable = false;
  std::string name; // of its file, or what the kernel calls it; empty: none
};

// The mapping that holds `at`, or the room between two mappings; nothing behind the last one, or when a line
// is none of a map. `maps` are the lines of /proc/PID/maps.
std::optional<MappedRegion> region_in(std::istream& maps, Address at);

} // namespace clr::lldb_plugin
