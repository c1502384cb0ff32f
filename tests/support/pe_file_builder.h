// Builds a small PE image: a code section, a writable data section with words to be relocated, a .reloc
// section.
//
//   file 0x000  headers (0x200 bytes)        image 0x0000
//   file 0x200  .text, 0x1000 bytes          image 0x2200   pattern 11
//   file 0x1200 .data, 0x800 bytes, writable image 0x4200   words: preferred base + 0x2000 + 4 * i
//   file 0x1a00 .reloc                       image 0x6000
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace clr::test {

struct PeFileBuilder {
  static constexpr std::uint64_t preferred_base = 0x1'8000'0000;
  static constexpr std::uint32_t text_offset = 0x200, text_address = 0x2200, text_size = 0x1000;
  static constexpr std::uint32_t data_offset = 0x1200, data_address = 0x4200, data_size = 0x800;
  static constexpr std::uint32_t reloc_offset = 0x1a00, reloc_address = 0x6000;

  std::uint32_t timestamp = 1;
  std::uint32_t words = 128; // in .data, all relocated
  // A ReadyToRun image: its COR and native headers in .text, two tables of it in .data, behind the words,
  // with a pattern of seed 12. `composite`: exported instead of named by a COR header.
  bool ready_to_run = false, composite = false;
  static constexpr std::uint32_t tables_begin = data_address + 0x400, tables_end = tables_begin + 0x180;
  std::uint32_t text_relocation = 0; // image address of a relocated word in .text; 0: none
  unsigned seed = 11;
  std::uint32_t file_size = 0x4000; // padded

  std::vector<std::byte> file() const;
  // .data as it is when the image was moved to `base`.
  std::vector<std::byte> data(std::uint64_t base) const;

private:
  std::vector<std::byte> text() const;
};

// A single file of .NET: `host`, then `images`, each at a multiple of 16, then the manifest. The host must
// hold the marker, which host_marker() makes.
std::vector<std::byte> host_marker();
std::vector<std::byte> single_file(std::vector<std::byte> host,
                                   const std::vector<std::vector<std::byte>>& images,
                                   std::vector<std::uint64_t>& offsets);

} // namespace clr::test
