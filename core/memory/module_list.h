// The native modules of a core, found without a debugger.
#pragma once

#include "core/memory/elf_core.h"
#include "core/memory/loaded_module.h"

#include <string>
#include <vector>

namespace clr {

struct ModuleList {
  static constexpr std::size_t max_modules = 1u << 16;
  // Bytes of the names in a link map, which may all be the same text; those of real programs have 100 each.
  static constexpr std::size_t max_link_map_names = 16u << 20;
  // Bytes of headers, notes and dynamic sections of all modules; a read counts as LimitedReader::read_cost at
  // least. A module takes some KB.
  static constexpr std::uint64_t max_header_bytes = 256u << 20;

  std::vector<LoadedModule> modules; // sorted by base
  std::string found_by;              // source of the list: "NT_FILE", "link map", "scan"
  std::vector<std::string> problems;
};

// The ELF modules (executable, libraries, vDSO) of `core`. Their headers are read through `memory`: the core
// itself, or an overlay of it that knows the pages that the core leaves out. Never throws because of the
// contents.
//
// With NT_FILE: the mappings of file offset 0 for which the module's program headers fit the other mappings
// of the same file. Without NT_FILE (qemu writes none, and a cut gdb core has lost it): the executable, which
// AT_PHDR or a scan of the first bytes of each segment finds, the loader's link map (DT_DEBUG), and the
// modules of the scan that the link map does not name. A module has no build id when the page of its notes is
// missing. A module whose header is missing too is listed when another mapping of its file is executable.
// Cost: some 5 reads per module, no more than max_header_bytes together (what is beyond is missing, and a
// problem says so); the scan reads each segment once. Source: System V gABI; glibc's <link.h>.
ModuleList list_modules(const ElfCore& core, MemoryReader& memory);

// The link map alone: the modules that the loader of `executable` lists, in its order, with base and path
// (the executable's path is empty) and without size. 3 reads per module. Ends, and reports a problem, where
// it cannot read further. Names that no file can have, and those beyond max_link_map_names, are empty; one
// problem counts the latter.
std::vector<LoadedModule> walk_link_map(MemoryReader& memory, Address executable,
                                        std::vector<std::string>& problems);

} // namespace clr
