// Types that an expression names, as a module of debug information: "Shop::Circle" for casts and sizeof, or
// "Shop.Circle.Count" for static fields as C# writes them. A debugger takes the first part for a namespace or
// for a variable, so that no module can have both.
#pragma once

#include "core/describe/debug_types.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

struct NamedType {
  std::vector<std::string> path; // "Shop", "Circle"; not empty
  Address method_table = 0;
};

// `colons`: each type by its name. Else their static fields, as variables with dots in their names: see
// DebugModule::globals. It holds for this stop alone, as boxes move. What is missing goes to `omissions`; no
// Error leaves. Cost: that of TypeLayouts::of for each type that is new.
DebugModule named_types_module(TypeLayouts& layouts, std::span<const NamedType> named, bool colons,
                               Omissions& omissions);

// All types that the runtime has loaded, by their names as expressions spell them; without those whose names
// several have, because nothing tells which one is meant. These, and what could not be read, go to
// `omissions`. Never throws. Cost: that of loaded_types.
std::vector<NamedType> named_types(TypeFinder& finder, Omissions& omissions);
// The parts between the dots.
std::vector<std::string> parts_of_name(std::string_view name);

} // namespace clr
