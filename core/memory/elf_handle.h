// libelf's handle of a file, closed by its owner's destructor.
#pragma once

#include <libelf.h>

#include <memory>

namespace clr {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfEnd>;

} // namespace clr
