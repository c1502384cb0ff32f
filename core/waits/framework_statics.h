// Static fields of the framework's own library by the names of their types.
#pragma once

#include "core/waits/core_library.h"

namespace clr {

// The address of a static field of a type that is not generic; nothing when there is no such type or field,
// or when its statics do not exist yet. Throws Error for missing memory. Cost: that of CoreLibrary::find and
// TypeLayouts::of.
std::optional<Address> static_address(ObjectReader& objects, CoreLibrary& library, std::string_view type,
                                      std::string_view field);

// The reference in such a field; 0 for null and for a field that is not there.
Address static_reference(ObjectReader& objects, CoreLibrary& library, std::string_view type,
                         std::string_view field);

} // namespace clr
