// Evaluates the DWARF operations that call frame information uses. elfutils' libdw decodes them.
// Source: DWARF 5 section 2.5.
#pragma once

#include "core/isa/registers.h"

#include <elfutils/libdw.h>

#include <span>

namespace clr {

// An expression gives an address at which a value lies, or the value itself.
struct DwarfValue {
  std::uint64_t value = 0;
  bool is_address = true;
};

// Runs `ops` on the registers of `context`; `cfa` is what DW_OP_call_frame_cfa gives. Costs a read for each
// dereference. Throws Error{memory_missing}; Error{register_unknown}; Error{corrupt} for a
// stack that runs empty or over max_dwarf_stack, for more than max_dwarf_steps steps, or a jump to nowhere;
// Error{unsupported_contract} for an operation that no call frame information needs.
DwarfValue evaluate_dwarf(std::span<const Dwarf_Op> ops, const RegisterContext& context,
                          std::optional<Address> cfa, MemoryReader& memory);

constexpr std::size_t max_dwarf_stack = 64, max_dwarf_steps = 1000;

} // namespace clr
