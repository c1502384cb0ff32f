// Types alone as a module of debug information: for values that no variable of a published module has.
#pragma once

#include "core/describe/debug_types.h"

#include <span>
#include <string>

namespace clr {

// The module of the types `uses`, of which what they refer to has names alone. Number i is the type of the
// variable value_type_name(i), which has no place of its own; a type that cannot be described has no such
// variable. The reasons of what is missing go to `omissions`. No Error leaves. Cost: that of TypeLayouts::of
// for each type that is new.
DebugModule value_types_module(TypeLayouts& layouts, std::span<const TypeUsePtr> uses, Omissions& omissions);
std::string value_type_name(std::size_t number);

} // namespace clr
