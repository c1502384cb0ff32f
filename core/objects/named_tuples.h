// The names of types with the names that source code gives to elements of tuples, made and taken apart. Only
// for tuple_names.cpp. Pure functions.
#pragma once

#include "core/types/name_format.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace clr {

// "System.ValueTuple<int Id, string Name>"; "" for an element without a name.
TypeNamePtr named_tuple(const std::vector<std::pair<TypeNamePtr, std::string>>& elements);

// The type with `names` for the tuples in it, in the order of with_tuple_names. Tuples of more than seven
// elements are written flat.
TypeNamePtr type_with_tuple_names(const TypeNamePtr& type, std::span<const std::string> names);

// `names` for a type with arguments where the signature that has these names has type parameters, see
// with_tuple_names.
std::vector<std::string> names_of_instance(const TypeName& type, std::vector<std::string> names);

} // namespace clr
