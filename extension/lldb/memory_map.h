// The memory map of a process, as Linux prints it.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

struct MappedRegion {
  Address begin = 0, end = 0;
  bool mapped = false, readable = false, writable = false, executable = false;
  std::string name; // of its file, or what the kernel calls it; empty: none
};

// The mapping that holds `at`, or the room between two mappings; nothing behind the last one, or when a line
// is none of a map. `maps` are the lines of /proc/PID/maps.
std::optional<MappedRegion> region_in(std::istream& maps, Address at);

// The mappings that meet [begin, end), ascending; at most max_regions, and none behind a line that is none of
// a map.
std::vector<MappedRegion> regions_in(std::istream& maps, Address begin, Address end);

constexpr std::size_t max_regions = 10'000;

} // namespace clr::lldb_plugin
