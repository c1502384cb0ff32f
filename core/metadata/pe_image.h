// A PE image as bytes behind a MemoryReader: in target memory or in a file on disk, either laid out by RVA
// ("mapped") or in the form of the file ("flat"). On Unix the runtime keeps IL-only assemblies flat, and so
// everything in a single file. Source: ECMA-335 II.25; dotnet/runtime src/coreclr/vm/peimagelayout.cpp. PE is
// little-endian on every target.
#pragma once

#include "core/memory/byte_range.h"
#include "core/memory/pe_headers.h"

#include <array>

namespace clr {

// An entry of the debug directory.
struct PeDebugEntry {
  std::uint32_t time_stamp = 0;
  std::uint16_t major = 0, minor = 0;
  std::uint32_t type =
      0; // 2 CodeView, 16 reproducible, 17 embedded portable PDB, 19 PDB checksum, 21 R2R perf map
  PeDirectory data;
  std::uint32_t file_offset = 0;
};

class PeImage {
public:
  // Reads headers and section table. Throws Error{memory_missing}, or Error{corrupt} when there is no PE
  // image. An image without a COR header (a composite ReadyToRun image) has no metadata. The machine number
  // is not checked, because ReadyToRun images for Unix have special numbers (the machine XOR a number of the
  // OS). `memory` must outlive the image. Cost: 4 reads, all within the first page and the page of the COR
  // header.
  PeImage(MemoryReader& memory, Address base, bool mapped);
  // For an unknown layout: tries mapped, then flat, and returns the one in which the metadata root has its
  // magic. Throws the errors of the flat layout.
  static PeImage detect(MemoryReader& memory, Address base);

  Address base() const { return base_; }
  bool mapped() const { return mapped_; }
  bool pe32_plus() const { return headers_.pe32_plus; }
  std::uint16_t machine() const { return headers_.machine; } // as stored
  std::uint64_t preferred_base() const { return headers_.preferred_base; }
  std::uint32_t size_of_image() const { return headers_.image_size; }

  // Address of the byte at `rva`; nothing when a flat image has no bytes there (or the RVA is outside).
  std::optional<Address> address_of(std::uint32_t rva) const;
  // The bytes of a directory, wholly inside one section. Throws Error{corrupt} when they are not.
  ByteRange range_of(PeDirectory directory) const;
  // The bytes from `rva` to the end of its section (or of the image).
  ByteRange range_from(std::uint32_t rva) const;

  // Data directory 0..15 of the optional header; empty when the image has fewer.
  PeDirectory directory(unsigned index) const {
    return index < headers_.directories.size() ? headers_.directories[index] : PeDirectory{};
  }
  // RVA of an exported name; nothing when there is none. Cost: two reads per export until it is found.
  std::optional<std::uint32_t> find_export(std::string_view name) const;
  PeDirectory cor_header() const { return directory(PeHeaders::cor_directory); }
  // The COR header's metadata (the BSJB root) and ManagedNativeHeader (READYTORUN_HEADER; empty for IL-only).
  PeDirectory metadata() const { return metadata_; }
  PeDirectory managed_native_header() const { return native_header_; }
  // Entries of the debug directory; at most max_debug_entries. Cost: one read.
  std::vector<PeDebugEntry> debug_entries() const;

  MemoryReader& memory() const { return *memory_; }

  static constexpr unsigned max_debug_entries = 64;
  static constexpr unsigned max_exports = 4096; // a ReadyToRun image has one or none

private:
  const PeSection* section_of(std::uint32_t rva) const;

  MemoryReader* memory_;
  Address base_;
  bool mapped_;
  PeHeaders headers_;
  PeDirectory metadata_, native_header_;
};

} // namespace clr
