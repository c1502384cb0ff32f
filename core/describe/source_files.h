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
  std::vector<std::string> names;                                     // full paths as the PDB has them
  std::map<std::pair<Address, std::uint32_t>, std::uint32_t> indexes; // by Module and row of Document
};

} // namespace clr
