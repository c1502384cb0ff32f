// The parts of a method's name, as a user types it or as it is shown.
#pragma once

#include <string>
#include <string_view>

namespace clr {

// The last part of a name that a user typed or that a method has, without arguments and type arguments:
// "Swap" of "Demo.Pair<int>.Swap(int)", ".ctor" of "T..ctor". A view into `name`. No reads.
std::string_view last_name(std::string_view name);

// The part before that: "Demo.Pair<int>" of "Demo.Pair<int>.Swap(int)"; empty when there is none. A view into
// `name`. No reads.
std::string_view qualifier_of(std::string_view name);

// The name of a type for comparing, without type arguments and their number, and with enclosing types as if
// they were namespaces: "Ns.Outer.Inner" of "Ns.Outer<int>+Inner`1". Names that a compiler made stay whole.
std::string plain_type_name(std::string_view name);

// Whether `type` is called `wanted` as it is, or as it is shown: "Inner", "Outer.Inner" or "Ns.Outer.Inner"
// of "Ns.Outer.Inner". Both are names for comparing.
bool is_type_called(const std::string& type, std::string_view wanted);

} // namespace clr
