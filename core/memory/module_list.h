// The native modules of a core, found without a debugger.
#pragma once

#include "core/memory/elf_core.h"
#include "core/memory/loaded_module.h"

#include <string>
#include <vector>

namespace clr {

struct ModuleList {
  static constexpr std::size_t max_modules = 1u << 16;

  std::vector<LoadedModule> modules; // sorted by base
  std::string found_by;              // "NT_FILE", "link map", "scan": what the list rests on
  std::vector<std::string> problems;
};

// The ELF modules (executable, libraries, vDSO) of `core`, their headers read through `memory`: the core, or
// an overlay of it that knows the pages that the core leaves out. Never throws for what it finds.
//
// From NT_FILE: mappings of file offset 0 behind which the module's program headers fit the other mappings of
// the same file. Without NT_FILE (qemu writes none, and a cut gdb core has lost it): from the executable that
// AT_PHDR or a scan of the segments' first bytes shows, the loader's link map (DT_DEBUG), and the modules of
// the scan that the link map does not name. A module has no build id when the page of its notes is not there;
// one whose header is not there either is listed when another mapping of the file is executable. Cost: some 5
// reads a module; the scan reads each segment once. Source: System V gABI; glibc's <link.h>.
ModuleList list_modules(const ElfCore& core, MemoryReader& memory);

// The link map alone: the modules that the loader of `executable` lists, in its order, with base and path
// (the executable's is empty) and no size. 3 reads a module. Ends, with a problem, at what cannot be read.
std::vector<LoadedModule> walk_link_map(MemoryReader& memory, Address executable,
                                        std::vector<std::string>& problems);

} // namespace clr
