// Executable memory of a live process that belongs to no file: what the runtime or other generators of code
// have mapped.
#pragma once

#include "core/memory/memory_range.h"

#include <lldb/API/LLDB.h>

#include <vector>

namespace clr::lldb_plugin {

// Of [begin, end), ascending; of a process of this host with what is reserved and may become such. Cost: a
// look at the memory map for each mapping there, and the whole map.
std::vector<MemoryRange> executable_memory_in(lldb::SBProcess& process, Address begin, Address end);

// The executable ranges that hold one of `addresses`, ascending. Cost: a look at the memory map for each.
std::vector<MemoryRange> executable_memory_at(lldb::SBProcess& process,
                                              const std::vector<Address>& addresses);

} // namespace clr::lldb_plugin
