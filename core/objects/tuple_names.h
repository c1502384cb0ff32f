// The names that source code gives to the elements of a ValueTuple, and its elements in their order, those
// behind the seventh included, which the compiler nests. Source: dotnet/roslyn
// docs/features/tuples.md; src/Compilers/CSharp/Portable/Symbols/Metadata/PE/TupleTypeDecoder.cs.
#pragma once

#include "core/objects/type_layout.h"

#include <string>
#include <string_view>
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

// Whether a tuple is part of the type: the type itself, an argument, an element.
bool has_tuple(const TypeName& type);

// The use of a type with the names that metadata or a PDB keep for the tuples in it: of a tuple those of its
// own elements, then those of the tuples within it, each where it stands; "" for an element without a name.
// The names become part of the type's name: "Ns.List<System.ValueTuple<int Id, string Name>>". `type` itself
// when it has no tuple, and when there are no names. `generic`: the names are those of a signature with type
// parameters, for which `type` has arguments; one that is a tuple has no names in the list, so that those
// behind it would be taken for its own: then only those of the tuple `type` itself are left. Never throws.
TypeUsePtr with_tuple_names(TypeLayouts& layouts, const TypeUsePtr& type, std::vector<std::string> names,
                            bool generic = false);

// An argument of a generic type, or the element of an array, in which elements of tuples have names.
struct NamedArgument {
  std::string type; // its name as the runtime knows it, without those names
  std::vector<std::string> names;
  friend auto operator<=>(const NamedArgument&, const NamedArgument&) = default;
};
// Those of the type with this name, as with_tuple_names makes it; empty for a name that is cut. Pure.
std::vector<NamedArgument> named_arguments(std::string_view type);
// The name of the type as the runtime knows it. Pure.
std::string without_tuple_names(std::string_view type);
// An item of a collection or array of which these are the arguments, with the names that it has by them. Of
// two arguments of one type the last one counts, which is that of a dictionary's values. Never throws.
TypeUsePtr item_with_names(TypeLayouts& layouts, const TypeUsePtr& item,
                           const std::vector<NamedArgument>& arguments);

constexpr std::size_t max_tuple_elements = 256; // of one tuple, and names of it and of those within it
constexpr std::size_t max_tuple_steps = 10'000; // types that are looked at for one tuple
constexpr std::size_t max_tuple_name = 256;     // bytes of the name of an element
constexpr unsigned max_tuple_nesting = 16;      // tuples within tuples

} // namespace clr
