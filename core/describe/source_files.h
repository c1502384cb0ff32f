// The table of source files that line rows refer to, before they are divided among modules.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace clr {

struct SourceFiles {
  // Full paths as the PDB has them; empty: one that a debugger must not be told (DocumentFiles).
  std::vector<std::string> names;
  std::map<std::pair<Address, std::uint32_t>, std::uint32_t> indexes; // by Module and row of Document
};

} // namespace clr
