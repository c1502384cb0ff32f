#include "extension/lldb/executable_memory.h"

#include "extension/lldb/memory.h"

#include <algorithm>
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
bool is_of_no_file(lldb::SBMemoryRegionInfo& mapping) {
  const char* const text = mapping.GetName();
  const std::string_view name = text != nullptr ? text : "";
  return name.empty() || name.starts_with("/memfd:");
}

bool is_code_of_no_file(lldb::SBMemoryRegionInfo& mapping) {
  return mapping.IsMapped() && mapping.IsExecutable() && is_of_no_file(mapping);
}

// The runtime takes memory in large pieces, and makes parts of it code or stubs when it needs some: while a
// step is under way, too.
bool is_reserved(lldb::SBMemoryRegionInfo& mapping) {
  if (!mapping.IsMapped() || mapping.IsReadable() || mapping.IsWritable() || mapping.IsExecutable())
    return false;
  return is_of_no_file(mapping);
}

} // namespace

std::vector<MemoryRange> executable_memory_in(lldb::SBProcess& process, Address begin, Address end) {
  std::vector<MemoryRange> found;
  lldb::SBMemoryRegionInfo mapping;
  for (std::size_t looks = 0; begin < end && looks < max_looks; ++looks) {
    const std::optional<MemoryRange> range = mapping_at(process, begin, mapping);
    if (!range) break;
    if (is_code_of_no_file(mapping) || is_reserved(mapping)) found.push_back(*range);
    begin = range->end();
  }
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
