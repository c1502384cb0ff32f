#include "extension/lldb/executable_memory.h"

#include "extension/lldb/core_file.h"
#include "extension/lldb/memory.h"
#include "extension/lldb/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

namespace {

// Looks at the memory map in one call.
constexpr std::size_t max_looks = 10'000;

// The mapping at `address`, mapped or not.
std::optional<MemoryRange> mapping_at(lldb::SBProcess& process, Address address,
                                      lldb::SBMemoryRegionInfo& mapping) {
  if (!region_at(process, address, mapping)) return std::nullopt;
  const Address begin = mapping.GetRegionBase(), end = mapping.GetRegionEnd();
  if (begin > address || end <= address) return std::nullopt;
  return MemoryRange{begin, end - begin};
}

// Memory that .NET maps twice, once to write and once to run it, has a file without a path.
bool is_of_no_file(std::string_view name) {
  return name.empty() || name.starts_with("/memfd:");
}
bool is_of_no_file(lldb::SBMemoryRegionInfo& mapping) {
  const char* const text = mapping.GetName();
  return is_of_no_file(std::string_view(text != nullptr ? text : ""));
}

bool is_code_of_no_file(lldb::SBMemoryRegionInfo& mapping) {
  return mapping.IsMapped() && mapping.IsExecutable() && is_of_no_file(mapping);
}

// The runtime takes memory in large pieces, and makes parts of it code or stubs when it needs some: while a
// step is under way, too.
bool is_reserved(const MappedRegion& mapping) {
  return !mapping.readable && !mapping.writable && !mapping.executable && is_of_no_file(mapping.name);
}

// It takes them from the beginning, block by block. The block in which the reserved memory begins is a part
// of the runtime's as a rule, so that it is apart. LLDB looks at all instructions of a piece when a thread
// steps into it: a large one takes it minutes.
void add_pieces(const MappedRegion& reserved, std::vector<MemoryRange>& found) {
  constexpr Address block = Address{64} << 10;
  constexpr unsigned taken_at_once = 2;
  Address begin = reserved.begin;
  const unsigned pieces = taken_at_once + (begin % block != 0 ? 1 : 0);
  for (unsigned i = 0; i < pieces && begin < reserved.end; ++i) {
    const Address size = std::min(block - begin % block, reserved.end - begin);
    found.push_back({begin, size});
    begin += size;
  }
}

// Room and reserved memory are one to LLDB's server; the kernel tells them apart.
std::vector<MappedRegion> map_of(lldb::SBProcess& process, Address begin, Address end) {
  lldb::SBTarget target = process.GetTarget();
  if (is_core(process) || !on_this_host(target)) return {};
  std::ifstream maps(fmt::format("/proc/{}/maps", process.GetProcessID()));
  return regions_in(maps, begin, end);
}

} // namespace

std::vector<MemoryRange> executable_memory_in(lldb::SBProcess& process, Address begin, Address end) {
  const std::vector<MappedRegion> map = map_of(process, begin, end);
  std::vector<MemoryRange> found;
  bool of_process = false; // the map; in another pid namespace the number may be another process's
  lldb::SBMemoryRegionInfo mapping;
  for (std::size_t looks = 0; begin < end && looks < max_looks; ++looks) {
    const std::optional<MemoryRange> range = mapping_at(process, begin, mapping);
    if (!range) break;
    if (is_code_of_no_file(mapping)) {
      found.push_back(*range);
      of_process = of_process || std::ranges::any_of(map, [&](const MappedRegion& known) {
                     return known.executable && known.begin == range->begin && known.end == range->end();
                   });
    }
    begin = range->end();
  }
  if (!of_process) return found;
  for (const MappedRegion& known : map)
    if (is_reserved(known)) add_pieces(known, found);
  std::ranges::sort(found, {}, &MemoryRange::begin);
  return found;
}

std::vector<MemoryRange> executable_memory_at(lldb::SBProcess& process,
                                              const std::vector<Address>& addresses) {
  std::vector<MemoryRange> found;
  lldb::SBMemoryRegionInfo mapping;
  for (const Address address : addresses) {
    const std::optional<MemoryRange> range = mapping_at(process, address, mapping);
    if (range && is_code_of_no_file(mapping)) found.push_back(*range);
  }
  std::ranges::sort(found, {}, &MemoryRange::begin);
  const auto [first, last] = std::ranges::unique(found);
  found.erase(first, last);
  return found;
}

} // namespace clr::lldb_plugin
