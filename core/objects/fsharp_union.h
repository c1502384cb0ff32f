// Values of F#'s unions: which case one is, and the fields of that case. Source: dotnet/fsharp
// src/Compiler/AbstractIL/ilx.fs, src/Compiler/CodeGen/EraseUnions.fs.
#pragma once

#include "core/objects/instance_reader.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace clr {

// A type of a union, or of one of its cases.
struct UnionType {
  std::string only_case;         // of the type of a case, and of a union with one case; else empty
  std::vector<std::string> tags; // the names of the cases by their numbers
  // The fields of a case, by its name: they are called like the parameters of the function that makes it, as
  // the source writes them (source_names) or as the type has them.
  struct Fields {
    std::unordered_set<std::string> names, source_names;
  };
  std::map<std::string, Fields> fields;
  bool all_fields = false; // of a type of a case: all of its fields are the case's

  static constexpr std::size_t max_cases = 4'096;
  // Bytes of all names of a union. One of a hundred cases with ten fields each has some 20 KB.
  static constexpr std::size_t max_names = 4u << 20;
  static constexpr std::uint32_t max_methods = 65'536; // that are looked at for those that make a case
  static constexpr std::uint32_t max_nested =
      4'096; // types behind a union among which its tags are looked for
};

// Nothing: no union. Throws Error, also behind TypeLayouts::max_all_bytes. Cost: that of find_attribute, and
// of a union some 4 reads for each method.
std::optional<UnionType> read_union_type(ObjectReader& reader, const TypeLayout& layout);

struct UnionField {
  std::string name; // "radius", "Item1" where the source gives none
  const FieldLayout* field = nullptr;
};
struct UnionCase {
  std::string name; // "Circle"
  std::vector<UnionField> fields;
};

// The case that an instance is; nothing when its type is no union. Throws Error. Cost: that of
// read_union_type for each new type, and 1 read.
std::optional<UnionCase> union_case(InstanceReader& reader, const Instance& instance);

} // namespace clr
