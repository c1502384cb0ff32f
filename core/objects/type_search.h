// The types that the runtime has loaded, found by what their metadata says.
#pragma once

#include "core/objects/object_reader.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace clr {

// The name of a definition as it is declared: "System.Int32" and not "int", "Ns.Cache`1.Entry".
std::string declared_name(const TypeName& type);

struct TypeSearch {
  // Whether a type of a module is wanted. `text` is its name as it is declared: "System.Int32",
  // "Ns.Cache`1.Entry". Of a generic type each instance is visited.
  std::function<bool(const Metadata& metadata, std::uint32_t type_def_rid, const std::string& text,
                     bool generic)>
      wanted;
  // Called with the MethodTable of each loaded type that is wanted, and with `text` where it is not generic,
  // else ""; false ends the search.
  std::function<bool(Address method_table, const std::string& text)> visit;
};

// The rows of fields of a module's types, one type after the other, for TypeSearch::wanted.
class FieldRanges {
public:
  // As Metadata::field_range. Throws Error{corrupt} as soon as the types since the first one have more fields
  // than the module: then each could have all of them. No reads but those of field_range.
  std::pair<std::uint32_t, std::uint32_t> of(const Metadata& metadata, std::uint32_t type_def_rid);

private:
  std::uint64_t seen_ = 0; // of the types so far
};

// Returns what could not be read, the first reasons of them. Never throws for target data. Cost: the metadata
// of every module; 3 reads for each type that is wanted.
std::vector<std::string> search_types(TypeFinder& finder, const TypeSearch& search);

// The MethodTable of the loaded type whose name is `text`: "Ns.Outer.Inner", "Ns.Cache<string, int>". Throws
// Error{invalid_argument} when there is none, with what could not be read in the search, and when several
// modules have one. Cost: that of search_types.
Address find_type(ObjectReader& objects, const std::string& text);

} // namespace clr
