// Target memory as LLDB reads it.
#pragma once

#include "core/memory/memory_reader.h"

#include <lldb/API/LLDB.h>

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

} // namespace clr::lldb_plugin
