// The description of a method as values; names are made from it by formatters.
#pragma once

#include "core/memory/platform.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class MethodKind : std::uint8_t {
  il,
  fcall,
  pinvoke,
  eeimpl /* delegate Invoke and friends */,
  array,
  instantiated,
  com_interop,
  dynamic /* LCG */,
  il_stub,
  async_thunk,
  unknown,
};
std::string_view to_string(MethodKind kind); // JSON words; eeimpl is "delegate"

enum class NameSource : std::uint8_t { memory, assembly, symbols, token };
std::string_view to_string(NameSource source);

enum class Tier : std::uint8_t {
  unknown,
  tier0,
  tier1,
  osr,
  optimized,
  minopts,
  instrumented,
  instrumented_optimized,
  r2r,
};
std::optional<std::string_view> to_string(Tier tier); // nothing for unknown: JSON null

// The conventions of names: see formatters in method_names.h.
struct Method {
  std::string name;       // "Ns.Outer+Inner.Run": no generic arguments, no parameters
  std::string full_name;  // "Ns.Outer.Inner<int>.Run<string>(int, string[])"
  std::string sos_name;   // as SOS and ClrMD print it
  std::string event_name; // the form of method events: ".ctor" becomes the type with its parameters; "(???)"
  bool signature_known = false;
  std::string module;      // "app.dll"
  std::string module_path; // "/srv/app.dll"; empty when the runtime has none (single file)
  std::uint32_t token = 0; // 0x06......; 0 when the method has no metadata
  Address method_desc = 0; // 0: known only from a ReadyToRun image's tables
  Address method_table = 0;
  NameSource name_from = NameSource::token;
  std::string degraded; // why the name is not better; empty when it is whole
  MethodKind kind = MethodKind::unknown;
};

} // namespace clr
