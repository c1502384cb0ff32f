// TypeHandle: a pointer to a MethodTable or, with a tag bit, to a TypeDesc. TypeDescs describe pointers,
// byrefs, type variables and function pointers. Source: dotnet/runtime
// docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/typedesc.h.
#pragma once

#include "core/target/target.h"

#include <cstdint>
#include <vector>

namespace clr {

constexpr bool is_type_desc(Address type_handle) {
  return (type_handle & 2) != 0;
}

// CorElementType of the TypeDescs. ECMA-335 II.23.1.16
namespace element_type {
constexpr std::uint8_t ptr = 0x0f, byref = 0x10, value_type = 0x11, var = 0x13, fnptr = 0x1b, mvar = 0x1e;
}

struct TypeDesc {
  Address address = 0;
  std::uint8_t element_type = 0;
  Address argument = 0; // ptr, byref, value_type (the marshalled view of a struct): the element's TypeHandle
  Address module = 0;   // var, mvar
  std::uint32_t token = 0;           // var, mvar: GenericParam token
  std::uint8_t call_conv = 0;        // fnptr: header byte of the signature
  std::vector<Address> ret_and_args; // fnptr: return type first
};

// The TypeDesc behind a tagged TypeHandle. Throws Error{memory_missing, corrupt, unsupported_contract}. Cost:
// 2 reads, 4 for a function pointer.
TypeDesc read_type_desc(const Target& target, Address type_handle);

constexpr std::uint32_t max_fnptr_arguments = 1'024;

} // namespace clr
