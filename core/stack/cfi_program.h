// The instructions of call frame information, looked through before libdw runs them: it makes room for any
// register that one names, and keeps as many states as they ask for.
// Source: DWARF 5 section 6.4.2; Linux Standard Base, .eh_frame; DWARF for AArch64 (negate_ra_state).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace clr {

// Bytes of the program of one entry. Those of large functions have some KiB.
constexpr std::size_t max_cfi_program = 1 << 20;
// Registers that a program may name; no CPU of DWARF has as many.
constexpr std::uint64_t max_cfi_registers = 1'024;
// Bytes of one DWARF expression in a program. Longer ones have more operations than we evaluate.
constexpr std::size_t max_cfi_expression = 4'096;
// States that are remembered at one time: compilers remember one.
constexpr unsigned max_cfi_remembered = 64;

// What it takes to run `program` once, in bytes that are looked at: more than it has where it copies a state
// (a step for each 8 registers) or has expressions (32 for each byte: they become operations that are kept).
// `plain_addresses`: the addresses in it are 8 bytes each as they are; others are refused, no compiler writes
// them. Cost: one step a byte. Throws Error{corrupt} for a program that is beyond one of the limits, that
// ends within an instruction, or that has one that we do not know.
std::uint64_t work_of_cfi_program(std::span<const std::byte> program, bool plain_addresses);

} // namespace clr
