// Writes debug information as a module of its own: an ELF file with symbols, call frame information and
// DWARF 4, which LLDB 14 to 19 load at slide 0.
// Source: System V ABI, gABI chapters 4 and 5; DWARF 4; Linux Standard Base, .eh_frame.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/dwarf/elf_container.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace clr {

// ET_DYN, absolute addresses; class, byte order and machine of the platform. Sections without bytes lie
// beyond the end of the file, so that a debugger reads the memory of the process instead. The first section
// has a program header, because LLDB takes the base of a module from the first one: `process save-core` fails
// when one module of the process has no base. The others have none, which LLDB would only keep as a second
// tree. Of each function: entries or symbols for its names; unwind rules that LLDB follows at every
// instruction when they are `exact`; with lines or variables an entry in the unit of its type, `this` being
// that of its class, so that fields are found by their names. A variable or field of a reference type is a
// C++ reference
// ("node.Next.Id"); a static field is the variable "Ns_Type_Field". A variable without a place is written:
// LLDB tells that it is nowhere. Values that make no sense (code outside of its section, rows out of order,
// types that refer to nothing, places that DWARF cannot express) are left out, the others are written. No
// reads; cost: about a microsecond for each code. Throws Error{unsupported_contract} for a CPU other than x64
// and arm64, Error{invalid_argument} when sections overlap. `use` gets the file; the parts are valid until it
// returns.
void write_elf_module(const DebugModule& module, const std::function<void(FileParts)>& use);
std::vector<std::byte> write_elf_module(const DebugModule& module);

} // namespace clr
