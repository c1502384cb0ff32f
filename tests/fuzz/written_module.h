// What becomes of a module that was written: others read it to its end.
#pragma once

#include "core/memory/elf_handle.h"
#include "core/memory/platform.h"
#include "core/stack/elf_symbols.h"

#include <cstdio>
#include <cstdlib>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <vector>

namespace clr::fuzz {

// libdw could not read what was written.
[[noreturn]] inline void refuse(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, dwarf_errmsg(-1));
  std::abort();
}

inline void read_entries(Dwarf_Die die, unsigned depth) {
  if (depth > 200) refuse("entries without an end");
  Dwarf_Attribute attribute;
  Dwarf_Die target, child;
  for (const unsigned name : {DW_AT_type, DW_AT_specification, DW_AT_object_pointer})
    if (dwarf_attr(&die, name, &attribute) != nullptr && dwarf_formref_die(&attribute, &target) == nullptr)
      refuse("a reference to an entry");
  if (dwarf_attr(&die, DW_AT_location, &attribute) != nullptr) {
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    Dwarf_Addr start = 0, begin = 0, end = 0;
    std::ptrdiff_t at = 0;
    while ((at = dwarf_getlocations(&attribute, at, &start, &begin, &end, &ops, &count)) > 0) continue;
    if (at < 0) refuse("a list of locations");
  }
  if (dwarf_child(&die, &child) == 0) {
    int next = 0;
    do read_entries(child, depth + 1);
    while ((next = dwarf_siblingof(&child, &child)) == 0);
    if (next < 0) refuse("an entry");
  }
}

// Reads every entry, line and unwind rule with libdw, the rules of the addresses from `first` on, and every
// symbol with our own reader. Ends the program when something cannot be read.
inline void read_written(std::vector<std::byte> bytes, Address first) {
  const ElfSymbols symbols = ElfSymbols::of_file(bytes);
  for (Address at = first; at < first + 0x400; at += 8)
    if (const auto function = symbols.find(at); function && function->address > at) refuse("a symbol");
  const ElfHandle elf(elf_memory(reinterpret_cast<char*>(bytes.data()), bytes.size()));
  if (elf == nullptr) refuse("the file");
  Dwarf* dwarf = dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr);
  if (dwarf == nullptr) return; // without debug sections
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  int result = 0;
  dwarf_errno(); // forgets the error of an earlier call
  while ((result = dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr)) == 0) {
    read_entries(die, 0);
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (dwarf_hasattr(&die, DW_AT_stmt_list) && dwarf_getsrclines(&die, &lines, &count) != 0) refuse("lines");
  }
  // Without .debug_info there is no unit, which is told as a failure, but without an error.
  if (result < 0 && dwarf_errno() != 0) refuse("a unit");
  if (Dwarf_CFI* cfi = dwarf_getcfi(dwarf))
    for (Address at = first; at < first + 0x400; at += 8) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, at, &frame) == 0) std::free(frame);
    }
  dwarf_end(dwarf);
}

} // namespace clr::fuzz
