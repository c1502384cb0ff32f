// Properties whose code does nothing but return a field.
#pragma once

#include "core/objects/instance_reader.h"

#include <optional>
#include <string_view>

namespace clr {

// The field that the property `property` of the instance's type, or of a base type, returns, by the IL of its
// getter; nothing when there is no such property, when it does more, and when its IL cannot be read. Throws
// Error as TypeLayouts::of does. Cost: a read for each method of the type, and 4 for the getter.
std::optional<FieldPlace> find_returned_field(InstanceReader& reader, const Instance& instance,
                                              std::string_view property);

} // namespace clr
