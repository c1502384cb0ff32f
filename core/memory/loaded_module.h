// A native module or assembly that is mapped in the target, whatever listed it (LLDB, a core's NT_FILE, a
// scan).
#pragma once

#include "core/memory/platform.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct LoadedModule {
  std::string path;                   // in the target's spelling; empty when unknown
  Address base = 0;                   // address of the mapping of file offset 0
  std::uint64_t size = 0;             // from base to the end of the last mapping; 0 when unknown
  std::vector<std::uint8_t> build_id; // GNU build id; empty when unknown
  // Address of the exported DotNetRuntimeContractDescriptor, if the source of the list already knows it (LLDB
  // does).
  std::optional<Address> contract_descriptor;
};

} // namespace clr
