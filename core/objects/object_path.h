// Paths into objects as people write them: order.Items[3].Name, grid[1,2], prices["tea"].
#pragma once

#include "core/objects/inspected_object.h"

#include <string_view>

namespace clr {

// A variable, field or element of type `type` at `at`.
struct ValuePlace {
  TypeUsePtr type; // never null
  Address at = 0;
};

// The place that `path` leads to from the object at `object`. Each step goes by the type that an object has,
// not by the declared one: .Field or .Property (an automatic property is its field; the getters of others
// would have to run), [n] of arrays, lists and dictionaries with numbers as keys, [i,j] of arrays of several
// dimensions, ["text"] of dictionaries, whose quotes may be left out. Throws Error{invalid_argument} that
// names the step that leads nowhere, and Error as ObjectReader's functions do. `path` must not be empty.
// Cost: that of the fields and elements on the way; a dictionary is searched from its beginning.
// `declared`: the name of the type that the variable is declared with, if it is known: of a collection of
// tuples it has the names of their elements.
ValuePlace follow_path(ObjectReader& reader, Address object, std::string_view path,
                       std::string_view declared = {});

} // namespace clr
