// The places of a method's arguments and locals while its code runs.
// Source: dotnet/runtime src/coreclr/inc/cordebuginfo.h (VarLocType, RegNum),
// docs/design/datacontracts/DebugInfo.md, src/coreclr/vm/debuginfostore.cpp.
#pragma once

#include "core/debuginfo/nibble_reader.h"
#include "core/isa/variable_location.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class VariablesCoding : std::uint8_t {
  from_4,       // numbers from -4 on; range, then number. .NET 7 to 10
  from_5,       // numbers from -5 on
  number_first, // numbers from -6 on; number, then range; return values of calls
};

namespace debuginfo {

// A variable is at this location while the native offset lies in [begin, end).
struct Variable {
  // Arguments count from 0, `this` first, then the locals in the order of their signature. Or one of the
  // numbers below.
  std::int32_t number = 0;
  std::uint32_t begin = 0, end = 0;
  VariableLocation location;
  // IL offset of the call that returns this value.
  std::optional<std::uint32_t> call_il;

  static constexpr std::int32_t varargs_handle = -1, return_buffer = -2, type_context = -3, unknown = -4,
                                call_return = -5;

  friend bool operator==(const Variable&, const Variable&) = default;
};

} // namespace debuginfo

// Entries of one body's block: some thousands of variables, with hundreds of places each.
constexpr std::uint32_t max_variable_entries = 1 << 20;

// Decodes the entries of the block `chunk`: in no particular order, several per variable. `x86`: its stack
// offsets are stored in words of 4 bytes. Throws Error{corrupt} for a count that does not fit into the block
// or exceeds max_variable_entries, and for an unknown type of location. No reads.
std::vector<debuginfo::Variable> decode_variables(const DebugInfoChunk& chunk, VariablesCoding coding,
                                                  bool x86);

std::string_view to_string(VariableHome home); // "reg", "reg_byref", ...

// Name of CoreCLR's register `number`: "rax", "x19", "sp"; "ambient_sp" for the stack pointer as it is
// outside of calls; empty for a number or CPU that is not known.
std::string debug_register_name(Cpu cpu, std::uint32_t number);

} // namespace clr
