// Takes apart the names of methods in perf maps.
// Source: dotnet/runtime src/coreclr/vm/perfmap.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace clr {

// The parts of a method's name in a perf map: "instance void [app] Ns.Outer+Inner::Run(int32)" or "void
// Ns.Outer+Inner::Run(System.Int32)".
struct MapMethodName {
  std::string assembly;  // "app"; empty when the name does not say
  std::string name;      // "Ns.Outer+Inner.Run"
  std::string full_name; // "Ns.Outer+Inner.Run(int32)": parameters in the spelling of the map
};
// Nothing for a name that is no method's (stubs, other runtimes, native code).
std::optional<MapMethodName> parse_map_method(std::string_view text);

} // namespace clr
