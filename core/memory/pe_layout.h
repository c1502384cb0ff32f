// Which bytes of a PE file stay unchanged when the image is mapped, and which can be written or depend on the
// base address. (The metadata room reads the contents.) Source: Microsoft PE/COFF specification.
#pragma once

#include "core/memory/partial_file.h"
#include "core/memory/pe_headers.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace clr {

// The first word of a READYTORUN_HEADER: "RTR".
constexpr std::uint32_t ready_to_run_signature = 0x0052'5452;

struct PeLayout {
  // Bytes of the relocation tables of all images of a file, each with two or three for a relocation. An image
  // may have 10,000 of them.
  static constexpr std::uint64_t max_relocation_bytes = 16u << 20;
  static constexpr std::uint32_t max_ready_to_run_sections = 256;

  struct Relocation {
    std::uint32_t address; // relative to the image
    unsigned size;         // bytes of the word that the base is added to
  };
  struct Range {
    std::uint32_t begin = 0, end = 0; // relative to the image
  };

  std::uint64_t preferred_base = 0;
  std::uint32_t header_size = 0, image_size = 0;
  std::vector<PeSection> sections;     // the raw size is limited to the bytes that the file has
  std::vector<Relocation> relocations; // sorted by address
  // The tables that a ReadyToRun header names. Nothing writes to them, but recent compilers put them (for
  // instance the table of runtime functions) into the same section as import cells, which is writable.
  // Sorted, without overlaps; empty for images without such a header.
  // Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md.
  std::vector<Range> ready_to_run_tables;

  // Of the image at [offset, offset + size) of `file`. Nothing when that is no PE image. Parts that lie
  // outside are left out. Reads the headers, the relocations, and the list of a ReadyToRun image's tables.
  // `relocation_bytes`: how many may still be read, from which those of this image are taken. Throws
  // Error{corrupt} when it has more.
  static std::optional<PeLayout> parse(PartialFile& file, std::uint64_t offset, std::uint64_t size,
                                       std::uint64_t& relocation_bytes);
  // Of a file of which all bytes are there. Throws Error{corrupt} beyond max_relocation_bytes.
  static std::optional<PeLayout> parse(std::span<const std::byte> file);

  // The section that holds the byte at this file offset; null for the headers and for bytes in no section.
  const PeSection* section_of_offset(std::uint64_t file_offset) const;
  // The end of the ReadyToRun table that holds `address`; `address` itself when none does.
  std::uint32_t constant_end(std::uint32_t address) const;
  // The first relocation whose word reaches to `address` or beyond.
  std::vector<Relocation>::const_iterator first_relocation(std::uint32_t address) const;
};

} // namespace clr
