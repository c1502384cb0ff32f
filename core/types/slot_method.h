// The method in a slot of a type's virtual methods.
// Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md.
#pragma once

#include "core/target/target.h"

namespace clr {

// The MethodDesc that a type, or the nearest of its base types, has for `slot`; 0: none. Throws Error. Cost:
// that of the methods of the types that are looked through.
Address method_in_slot(const Target& target, Address method_table, std::uint32_t slot);

constexpr unsigned max_slot_base_types = 256;

} // namespace clr
