// The name of a method without its namespace, type and arguments.
#pragma once

#include <string_view>

namespace clr {

// The last part of a name that a user typed or that a method has, without arguments and type arguments:
// "Swap" of "Demo.Pair<int>.Swap(int)", ".ctor" of "T..ctor". A view into `name`. No reads.
std::string_view last_name(std::string_view name);

} // namespace clr
