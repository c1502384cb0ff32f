// The name of a method without what qualifies it.
#pragma once

#include <string_view>

namespace clr {

// "Swap" of "Demo.Pair<int>.Swap(int)", ".ctor" of "T..ctor": the last part of a name that a user typed or that a
// method has, without arguments and type arguments. A view into `name`. No reads.
std::string_view last_name(std::string_view name);

} // namespace clr
