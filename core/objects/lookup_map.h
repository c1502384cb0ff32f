// A module's map from the rows of a metadata table to what the runtime has made of them.
// Source: dotnet/runtime docs/design/datacontracts/Loader.md (GetModuleLookupMapElement);
// src/coreclr/vm/ceeload.h (LookupMapBase).
#pragma once

#include "core/memory/error.h"
#include "core/target/target.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace clr {

struct LookupMap {
  // It grows by parts, in the order of the rows.
  struct Part {
    Address table = 0; // of pointers with flags
    std::uint32_t count = 0;
  };
  std::vector<Part> parts;    // row 0, which no metadata table has, is the first of them
  Address flags = 0;          // bits of a pointer that are none of the address
  std::optional<Error> fault; // why the parts behind these are not known
};

constexpr unsigned max_map_parts = 1'024;
constexpr std::uint32_t max_map_rows = 1u << 24; // of all parts; a token has as many

// The map of this name, "TypeDefToMethodTableMap", of `module`; empty when this runtime has none. Throws
// nothing. Cost: 1 read, and 3 for each part.
LookupMap read_lookup_map(const Target& target, Address module, std::string_view name);
// What it has for row `rid`; 0: nothing. Throws Error{memory_missing}, and the fault of the map for a row of
// the parts that are not known. Cost: 1 read.
Address find_in(const Target& target, const LookupMap& map, std::uint32_t rid);

} // namespace clr
