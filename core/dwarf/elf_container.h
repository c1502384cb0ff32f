// An ELF file around sections: header, program headers, section table, and the sections one behind the other.
// Source: System V gABI, chapter 4.
#pragma once

#include "core/memory/elf_records.h"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace clr {

// The bytes of a file: these, one behind the other.
using FileParts = std::span<const std::span<const std::byte>>;

struct ElfOutputSection {
  std::string_view name; // must outlive the container
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  Address address = 0;
  std::uint64_t size = 0;
  // `size` of them, which must outlive the container; or none: the section lies beyond the end of the file.
  std::span<const std::byte> bytes;
  std::uint32_t link = 0, info = 0;
  std::uint64_t entry_size = 0, alignment = 1;
  bool segment = false; // has a program header of its own: PT_LOAD, read and execute
};

// libelf would write to file descriptors only, and would grow the file to hold every section, also those that
// must lie beyond its end. So libelf translates the records here, and their places are found without it.
class ElfContainer {
public:
  // Section numbers from SHN_LORESERVE on mean something else in symbols; a few are left for DWARF.
  static constexpr std::size_t max_sections = 0xfe00;

  explicit ElfContainer(const Platform& platform);

  // The number of the section.
  std::uint32_t add(const ElfOutputSection& section);
  // The symbols as bytes of .symtab.
  std::vector<std::byte> encode(std::span<const Elf64_Sym> symbols) const;
  std::size_t symbol_size() const { return format_.symbol_size(); }
  // Calls `use` with the file, ET_DYN; the parts are valid until it returns. Throws Error{invalid_argument}
  // when the file would have more bytes than its class can address.
  void write(const std::function<void(FileParts)>& use) const;

private:
  Platform platform_;
  ElfFormat format_;
  std::vector<ElfOutputSection> sections_; // without number 0
};

} // namespace clr
