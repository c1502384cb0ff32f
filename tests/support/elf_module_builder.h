// Builds a small ELF module of any class and byte order: a file, and its bytes in memory after a loader
// mapped it at an address.
//
//   linked address 0      ELF header, program headers, build id, hash tables, symbols, strings, relocations
//                  0x2000 code (`text_size` bytes of pattern 40), not writable
//                  0x3000 dynamic section, then 0x3800 words to be relocated: PT_GNU_RELRO
//                  0x4000 writable data (pattern 90)
// File offsets equal linked addresses.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace clr::test {

struct ElfModuleBuilder {
  static constexpr Address text = 0x2000, dynamic = 0x3000, relocated = 0x3800, data = 0x4000;
  static constexpr std::size_t text_size = 0x1000, data_size = 0x800;

  Platform platform;
  std::vector<std::uint8_t> build_id{1, 2, 3, 4, 5, 6, 7, 8};
  // Defined symbols and their linked addresses; each has a size of 40.
  std::vector<std::pair<std::string, Address>> symbols;
  // Words at `relocated` and on: what the loader makes of them. The value is the addend.
  enum class Word { plain, relative, symbolic };
  std::vector<std::pair<Word, std::uint64_t>> words;
  bool gnu_hash = true, sysv_hash = false, needed = true;
  enum class Table { rela, rel, relr } table = Table::rela;
  std::string soname = "libmade.so";

  std::vector<std::byte> file() const;
  // The image at `base` after relocation, from base to base + 0x5000 (data and .bss). A loader that
  // `rebases_dynamic` adds the base to the entries of the dynamic section, as glibc does.
  std::vector<std::byte> loaded(Address base, bool rebases_dynamic) const;

private:
  struct Made;
  Made make() const;
};

} // namespace clr::test
