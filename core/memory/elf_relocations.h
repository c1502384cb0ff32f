// The relocation tables of an ELF module, reduced to the needs of a reader of its file: words that become
// addend + bias, and runs of bytes whose content the file alone does not tell.
// Source: the psABI of each CPU; the generic ABI's SHT_RELR.
#pragma once

#include "core/memory/elf_dynamic.h"
#include "core/memory/elf_file.h"

#include <vector>

namespace clr {

struct ElfRelocations {
  std::vector<ElfFile::RelativeWord> relative; // sorted by address
  std::vector<MemoryRange> unknown;            // sorted, merged
};

// `memory` is the module at its linked addresses, `dynamic` its dynamic section. Throws Error{memory_missing}
// and Error{corrupt} when a table is not in the file or makes no sense, and Error{unsupported_contract} for a
// CPU whose relocations are not known. There may be no more than `most` of all kinds together.
ElfRelocations read_relocations(MemoryReader& memory, Platform platform, const ElfDynamic& dynamic,
                                std::size_t most = ElfFile::max_relocations);

} // namespace clr
