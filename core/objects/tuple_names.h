// The names that source code gives to the elements of a ValueTuple, and its elements in their order, those
// behind the seventh included, which the compiler nests. Source: dotnet/roslyn
// docs/features/tuples.md; src/Compilers/CSharp/Portable/Symbols/Metadata/PE/TupleTypeDecoder.cs.
#pragma once

#include "core/objects/type_layout.h"

#include <string>
#include <vector>

namespace clr {

struct TupleElement {
  std::string name;         // "Count", or "Item2" where the source gives none
  TypeUsePtr type;          // never null
  std::uint32_t offset = 0; // bytes from the start of the tuple
};

// "System.ValueTuple`2" and its like.
bool is_tuple(const TypeName& type);

// The elements of a tuple; empty for other types. Throws Error as TypeLayouts::of does.
std::vector<TupleElement> tuple_elements(TypeLayouts& layouts, const TypeUse& type);

// The use of a tuple with the names that metadata or a PDB keep for it: those of its own elements, then those
// of the tuples within it, each where it stands; "" for an element without a name. `type` itself when it is
// no tuple, and when there are no names. Never throws.
TypeUsePtr with_tuple_names(TypeLayouts& layouts, const TypeUsePtr& type, std::vector<std::string> names);

constexpr std::size_t max_tuple_elements = 256; // of one tuple, and names of it and of those within it
constexpr std::size_t max_tuple_steps = 10'000; // types that are looked at for one tuple
constexpr std::size_t max_tuple_name = 256;     // bytes of the name of an element
constexpr unsigned max_tuple_nesting = 16;      // tuples within tuples

} // namespace clr
