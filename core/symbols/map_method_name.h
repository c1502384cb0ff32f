// Names of methods in the notation of perf maps, taken apart.
// Source: dotnet/runtime src/coreclr/vm/perfmap.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace clr {

// A method as a perf map names it: "instance void [app] Ns.Outer+Inner::Run(int32)" or
// "void Ns.Outer+Inner::Run(System.Int32)".
struct MapMethodName {
  std::string assembly;  // "app"; empty when the name does not say
  std::string name;      // "Ns.Outer+Inner.Run"
  std::string full_name; // "Ns.Outer+Inner.Run(int32)": parameters as the map spells them
};
// Nothing for a name that is not a method's (stubs, other runtimes, native code).
std::optional<MapMethodName> parse_map_method(std::string_view text);

} // namespace clr
