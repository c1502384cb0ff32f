// The records of ELF files of any class and byte order, as the 64-bit records of this host. libelf translates
// them.
#pragma once

#include "core/memory/elf_dynamic.h"

#include <cstddef>
#include <functional>
#include <gelf.h>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace clr {

struct ElfFormat {
  bool wide = true; // ELFCLASS64
  ByteOrder order = ByteOrder::little;

  std::size_t header_size() const { return wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr); }
  std::size_t segment_size() const { return wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr); }
  std::size_t section_size() const { return wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr); }
  std::size_t symbol_size() const { return wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym); }
  std::size_t dynamic_size() const { return wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn); }
  std::size_t rel_size() const { return wide ? sizeof(Elf64_Rel) : sizeof(Elf32_Rel); }
  std::size_t rela_size() const { return wide ? sizeof(Elf64_Rela) : sizeof(Elf32_Rela); }
  std::size_t word_size() const { return wide ? 8 : 4; } // size of an address
};

// Nothing unless `bytes` begin with an ELF identification of a known class and byte order.
std::optional<ElfFormat> elf_format(std::span<const std::byte> bytes);
// The platform that an ELF header describes.
Platform elf_platform(ElfFormat format, const GElf_Ehdr& header);

// The record at the front of `bytes`. `bytes` must hold at least the size of the record; nothing else is
// checked.
GElf_Ehdr decode_elf_header(std::span<const std::byte> bytes, ElfFormat format);
GElf_Phdr decode_segment(std::span<const std::byte> bytes, ElfFormat format);
GElf_Shdr decode_section(std::span<const std::byte> bytes, ElfFormat format);
GElf_Sym decode_symbol(std::span<const std::byte> bytes, ElfFormat format);
GElf_Dyn decode_dynamic(std::span<const std::byte> bytes, ElfFormat format);
GElf_Rela decode_rel(std::span<const std::byte> bytes, ElfFormat format); // addend 0
GElf_Rela decode_rela(std::span<const std::byte> bytes, ElfFormat format);
// A word of the size of an address.
std::uint64_t decode_word(std::span<const std::byte> bytes, ElfFormat format);

ElfSegment to_elf_segment(const GElf_Phdr& segment);

struct ElfNote {
  std::string_view owner; // "CORE", "GNU", ... without its NUL
  std::uint32_t type = 0;
  std::span<const std::byte> description;
};
// Visits the notes of a note segment whose notes are aligned to `alignment` (8; any other value counts as 4).
// Returns false when it had to end early at a note that does not fit. Stops when `visit` returns false.
bool for_each_note(std::span<const std::byte> bytes, ByteOrder order, std::uint64_t alignment,
                   const std::function<bool(const ElfNote&)>& visit);
// The GNU build id in a note segment; empty when there is none.
std::vector<std::uint8_t> find_build_id(std::span<const std::byte> notes, ByteOrder order,
                                        std::uint64_t alignment);

} // namespace clr
