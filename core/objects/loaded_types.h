// All types that the runtime has loaded, for those who must name each.
// Source: dotnet/runtime docs/design/datacontracts/Loader.md (lookup maps);
// src/coreclr/vm/typehash.h (EETypeHashTable).
#pragma once

#include "core/memory/error.h"
#include "core/objects/type_finder.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace clr {

struct LoadedType {
  Address method_table = 0;
  std::string text; // "System.Int32", "Ns.Cache<string, int>.Entry", of a generic definition "Ns.Cache<T>"
};

struct LoadedTypes {
  // Without arrays and pointers, and without the instances over variables that stand in generic code:
  // List<T> is here, the IEnumerable<T> of List<T> is not.
  std::vector<LoadedType> types;
  bool more = false; // than max_loaded_types, which are listed
};
constexpr std::size_t max_loaded_types = 50'000;
// Rows of the lookup maps of all modules, each part of a map counted as map_part_rows of them: modules may
// share a map. The modules of a large program have a million.
constexpr std::uint64_t max_all_map_rows = 64u << 20, map_part_rows = 1'024;

// Never throws for target data: `fault` is told of each type, and each list of types, that could not be
// read, and of modules beyond max_all_map_rows, once. Cost cold: some 8 reads for each module, those of
// TypeNames::type for each type, 3 for each instance; metadata of loaded types alone.
LoadedTypes loaded_types(TypeFinder& finder, const std::function<void(const Error&)>& fault);

// A number that is another one when a module or a type was loaded or unloaded since: as long as it is the
// same, so are loaded_types(). Modules beyond max_all_map_rows do not count. Never throws. Cost: 9 reads for
// each module, some of them of whole tables.
std::uint64_t mark_of_loaded_types(TypeFinder& finder);

} // namespace clr
