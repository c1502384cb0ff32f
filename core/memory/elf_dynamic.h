// The dynamic section of an ELF module and the symbols that it leads to. It needs no section headers, so it
// works on the part of the file that the loader mapped. Source: System V gABI, chapter 5; the GNU hash
// section of glibc's elf/dl-lookup.c.
#pragma once

#include "core/memory/memory_range.h"
#include "core/memory/memory_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// A program header.
struct ElfSegment {
  std::uint32_t type = 0; // PT_LOAD, ...
  bool readable = false, writable = false, executable = false;
  Address address = 0; // as linked, without the load bias
  std::uint64_t memory_size = 0;
  std::uint64_t file_offset = 0, file_size = 0;
  std::uint64_t alignment = 0;
};

struct ElfSymbol {
  Address address = 0; // with the load bias
  std::uint64_t size = 0;
  unsigned type = 0;    // STT_FUNC, STT_OBJECT, ...
  unsigned binding = 0; // STB_GLOBAL, ...
};

class ElfDynamic {
public:
  static constexpr std::size_t max_entries = 4096;
  static constexpr std::uint64_t max_symbols = 1u << 22; // more than any linker has made of a runtime
  static constexpr std::uint64_t max_chain = 1u << 16;   // symbols of one hash bucket
  static constexpr std::size_t max_name = 4096;          // longest symbol name or soname that is compared

  // A module without a dynamic section: it has no entries.
  ElfDynamic() = default;
  // `dynamic` is the section and `module` is the whole range of the module, both at their addresses in
  // `memory`, which must outlive this. 1 read. Throws Error{memory_missing}; Error{corrupt} when the section
  // exceeds max_entries.
  ElfDynamic(MemoryReader& memory, Platform platform, Address bias, MemoryRange module, MemoryRange dynamic);

  // The value of the first entry with this tag (DT_DEBUG, DT_RELASZ, ...), unchanged.
  std::optional<std::uint64_t> value(std::uint64_t tag) const;
  // The value of the entry as an address. Some loaders add the bias to the entries in memory and some do not:
  // a value within the module is taken as an address, to any other value the bias is added.
  std::optional<Address> address(std::uint64_t tag) const;

  // The defined dynamic symbol of that name; a version behind '@' is not compared. Searches by DT_GNU_HASH,
  // by DT_HASH, or by a scan of DT_SYMTAB when neither hash table exists or can be used. About 6 reads by
  // hash. Throws Error{memory_missing} when the tables are missing; nothing when they have no such symbol.
  std::optional<ElfSymbol> find_symbol(std::string_view name) const;

  // DT_SONAME; empty when there is none. 1 or 2 reads.
  std::string soname() const;

private:
  struct Entry {
    std::uint64_t tag, value;
  };
  struct Match {
    bool name_equal = false;
    ElfSymbol symbol;
  };
  std::optional<ElfSymbol> by_gnu_hash(Address table, std::string_view name) const;
  std::optional<ElfSymbol> by_hash(Address table, std::string_view name) const;
  std::optional<ElfSymbol> by_scan(std::string_view name) const;
  Match match(std::uint64_t index, std::string_view name) const;
  bool has_name(Address at, std::string_view name) const;
  template<typename T>
  T read(Address at) const;
  std::uint64_t read_word(Address at) const;

  MemoryReader* memory_ = nullptr;
  Platform platform_;
  Address bias_ = 0;
  MemoryRange module_;
  std::vector<Entry> entries_;
};

} // namespace clr
