// A native ELF module in target memory: everything that can be known about it without its file.
#pragma once

#include "core/memory/elf_dynamic.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

class ElfImage {
public:
  static constexpr std::size_t max_segments = 256; // linkers make 10 to 20
  // Bytes of all notes of a module in memory, and of each note segment of a file: real ones have a few
  // hundred.
  static constexpr std::uint64_t max_notes_size = 16u << 10;

  // The module whose ELF header is at `base`. 2 reads. `memory` must outlive this. Throws
  // Error{memory_missing} when the header's page is not there, Error{corrupt} when no ELF module is there.
  ElfImage(MemoryReader& memory, Address base);
  // True when the four bytes at `address` are the ELF magic. 1 read. Never throws.
  static bool is_elf(MemoryReader& memory, Address address);

  const Platform& platform() const { return platform_; }
  Address base() const { return base_; }
  // The difference between an address in memory and the same address in the file's program headers and
  // symbols.
  Address bias() const { return bias_; }
  // From base to the end of the last PT_LOAD.
  MemoryRange range() const { return range_; }
  // All program headers, in the order of the file.
  const std::vector<ElfSegment>& segments() const { return segments_; }
  // A program header's place in memory.
  MemoryRange range_of(const ElfSegment& segment) const;
  Address entry() const { return entry_; }

  // The dynamic section; without entries when the module has none. 1 read the first time. Throws
  // Error{memory_missing} when its page is not there.
  const ElfDynamic& dynamic();
  // See ElfDynamic::find_symbol.
  std::optional<ElfSymbol> find_symbol(std::string_view name) { return dynamic().find_symbol(name); }
  // The GNU build id; empty when the module has none, or none within max_notes_size bytes. 1 read per
  // PT_NOTE, up to that many bytes together. Throws Error{memory_missing} when no id was found and a page of
  // notes is not there.
  std::vector<std::uint8_t> build_id();

private:
  MemoryReader* memory_;
  Address base_ = 0, bias_ = 0, entry_ = 0;
  MemoryRange range_;
  Platform platform_;
  std::vector<ElfSegment> segments_;
  std::optional<ElfDynamic> dynamic_;
};

} // namespace clr
