// Target memory as LLDB reads it.
#pragma once

#include "core/memory/memory_reader.h"
#include "core/memory/process_memory.h"

#include <lldb/API/LLDB.h>

#include <memory>

namespace clr::lldb_plugin {

// A live process (or, as the last resort, a core that only LLDB can read). One call is one LLDB read; on a
// failure further ones find the first missing page.
class LldbMemory final : public MemoryReader {
public:
  explicit LldbMemory(lldb::SBProcess process) : process_(std::move(process)) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override;

private:
  std::size_t read_once(Address address, std::span<std::byte> out);

  lldb::SBProcess process_;
};

// Is the target's process one of this host? LLDB may be told so of another one's.
bool on_this_host(lldb::SBTarget& target);

// The mapping that holds `at`, or room between two. LLDB asks its server; when that did not answer once, for
// example since the process ran just then, LLDB takes it for one that cannot tell, as long as it lives. For a
// process of this host the kernel is asked then. Cost: a message, or the whole map.
bool region_at(lldb::SBProcess& process, Address at, lldb::SBMemoryRegionInfo& region);

// The memory of a live process past LLDB; null when it is not on this host, or not ours to read.
std::unique_ptr<ProcessMemory> local_memory(lldb::SBTarget& target, MemoryReader& lldb_memory);

} // namespace clr::lldb_plugin
