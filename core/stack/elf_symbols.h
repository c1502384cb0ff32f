// The functions of one native module by address, from a symbol table of its file or of target memory.
// Source: System V gABI, chapters 4 and 5.
#pragma once

#include "core/memory/elf_image.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

class ElfSymbols {
public:
  static constexpr std::size_t max_symbols = 1u << 22, max_names = 256u << 20;
  static constexpr std::size_t max_name = 16u << 10; // bytes; one that is longer counts as none

  struct Function {
    Address address = 0; // as linked
    std::uint64_t size = 0;
    std::string_view name; // as in the file
  };

  ElfSymbols() = default;
  ElfSymbols(ElfSymbols&&) = default; // names stay where they are; a copy's would not
  ElfSymbols& operator=(ElfSymbols&&) = default;

  // .symtab of an ELF file whose bytes outlive the table; empty when the file has none. Never throws.
  static ElfSymbols of_file(std::span<const std::byte> file);
  // .dynsym as the loader mapped it. Cost: 4 reads. Throws Error{memory_missing}; Error{corrupt}, also when
  // it would take more than `most` bytes.
  static ElfSymbols of_memory(MemoryReader& memory, ElfImage& image, std::uint64_t most = ~std::uint64_t{0});

  // Copies the names, so that the bytes of the file may go.
  void own_names();

  bool empty() const { return entries_.empty(); }
  // Bytes of the table and of the names that it owns.
  std::uint64_t size() const { return entries_.capacity() * sizeof(Entry) + owned_names_.capacity(); }
  // The function that holds `address` (as linked): by its size, or, when it has none, up to the next symbol.
  std::optional<Function> find(Address address) const;

private:
  struct Entry {
    Address address = 0;
    std::uint64_t size = 0;
    std::uint32_t name = 0; // offset in names_
    std::uint32_t rank = 0; // of aliases the lowest is shown
  };
  void add(Address address, std::uint64_t size, unsigned info, std::uint16_t section, std::uint32_t name);
  std::string_view name_at(std::uint32_t offset) const;
  void finish();

  std::vector<Entry> entries_;
  std::string_view names_;
  std::vector<char> owned_names_; // of_memory
};

} // namespace clr
