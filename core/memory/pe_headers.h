// The headers of a PE image: the machine, the data directories and the sections. They have the same form in
// files and in memory, so there is one reader for both.
// Source: Microsoft PE/COFF specification; ECMA-335 II.25.2.
#pragma once

#include "core/memory/memory_reader.h"

#include <array>
#include <vector>

namespace clr {

struct PeDirectory {
  std::uint32_t rva = 0;
  std::uint32_t size = 0; // bytes
};

struct PeSection {
  std::uint32_t rva = 0, virtual_size = 0;
  std::uint32_t raw_offset = 0, raw_size = 0; // in the file
  bool writable = false;
};

struct PeHeaders {
  static constexpr unsigned max_sections = 96;           // the Windows loader's own limit
  static constexpr std::uint32_t max_offset = 0x10'0000; // of the PE signature behind the DOS header
  static constexpr unsigned export_directory = 0, relocation_directory = 5, debug_directory = 6,
                            cor_directory = 14;

  std::uint16_t machine = 0; // as stored
  bool pe32_plus = false;
  std::uint64_t preferred_base = 0;
  std::uint32_t image_size = 0, header_size = 0; // bytes
  std::array<PeDirectory, 16> directories{};     // empty where the image has fewer
  std::vector<PeSection> sections;
};

// Reads the headers of the image or file that begins at `base`. Throws Error{memory_missing}, or
// Error{corrupt} when there is no PE image or when it has more than max_sections sections. Cost: 3 reads near
// the beginning of the image.
PeHeaders read_pe_headers(MemoryReader& memory, Address base);

} // namespace clr
