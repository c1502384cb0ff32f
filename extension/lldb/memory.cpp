#include "extension/lldb/memory.h"

#include "extension/lldb/core_file.h"
#include "extension/lldb/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
// Memory comes and goes by pages of this size or a multiple of it.
constexpr std::size_t smallest_page = 4096;
} // namespace

std::size_t LldbMemory::read_once(Address address, std::span<std::byte> out) {
  lldb::SBError error;
  const std::size_t got = process_.ReadMemory(address, out.data(), out.size(), error);
  // LLDB says what it copied even when it failed behind it.
  return std::min(got, out.size());
}

std::size_t LldbMemory::read_some(Address address, std::span<std::byte> out) {
  std::size_t done = read_once(address, out);
  // A debug server may refuse a whole range for one page of it: go on page by page.
  while (done < out.size()) {
    const Address at = address + done;
    if (at < address) break;
    const auto to_page_end = static_cast<std::size_t>(smallest_page - at % smallest_page);
    const std::size_t wanted = std::min(to_page_end, out.size() - done);
    if (wanted == out.size() && done == 0) break; // that was the read which failed
    const std::size_t got = read_once(at, out.subspan(done, wanted));
    done += got;
    if (got < wanted) break;
  }
  return done;
}

bool on_this_host(lldb::SBTarget& target) {
  const char* platform = target.GetPlatform().GetName();
  return platform != nullptr && std::string_view(platform) == "host";
}

bool region_at(lldb::SBProcess& process, Address at, lldb::SBMemoryRegionInfo& region) {
  if (process.GetMemoryRegionInfo(at, region).Success()) return true;
  lldb::SBTarget target = process.GetTarget();
  if (is_core(process) || !on_this_host(target)) return false;
  std::ifstream maps(fmt::format("/proc/{}/maps", process.GetProcessID()));
  const std::optional<MappedRegion> found = region_in(maps, at);
  if (!found) return false;
  const std::uint32_t permissions = (found->readable ? lldb::ePermissionsReadable : 0U) |
                                    (found->writable ? lldb::ePermissionsWritable : 0U) |
                                    (found->executable ? lldb::ePermissionsExecutable : 0U);
  region =
      lldb::SBMemoryRegionInfo(found->name.c_str(), found->begin, found->end, permissions, found->mapped);
  return true;
}

std::unique_ptr<ProcessMemory> local_memory(lldb::SBTarget& target, MemoryReader& lldb_memory) {
  lldb::SBProcess process = target.GetProcess();
  if (is_core(process) || !on_this_host(target) || target.GetAddressByteSize() != sizeof(void*))
    return nullptr;
  auto memory = ProcessMemory::open(fmt::format("/proc/{}", process.GetProcessID()));
  // A debug server elsewhere, or in another pid namespace, numbers its own processes.
  return memory && memory->is_read_by(lldb_memory) ? std::move(memory) : nullptr;
}

} // namespace clr::lldb_plugin
