// A PE image as bytes behind a MemoryReader: in target memory or a file on disk, laid out by RVA ("mapped")
// or as the file's bytes ("flat"). On Unix the runtime keeps IL-only assemblies and everything in a single
// file flat. Source: ECMA-335 II.25; dotnet/runtime src/coreclr/vm/peimagelayout.cpp. PE is little-endian on
// every target.
#pragma once

#include "core/memory/memory_reader.h"

#include <optional>
#include <vector>

namespace clr {

struct PeDirectory {
  std::uint32_t rva = 0;
  std::uint32_t size = 0; // bytes
};

class PeImage {
public:
  // Reads headers and section table. Throws Error{memory_missing}, or Error{corrupt} when there is no managed
  // PE image. The machine is not looked at: ReadyToRun images for Unix carry machines of their own. Cost: 3
  // reads.
  PeImage(MemoryReader& memory, Address base, bool mapped);

  Address base() const { return base_; }
  bool mapped() const { return mapped_; }
  // Address of the byte at `rva`; nothing when a flat image has no bytes there.
  std::optional<Address> address_of(std::uint32_t rva) const;
  // The COR header's metadata (the BSJB root) and ManagedNativeHeader (READYTORUN_HEADER; empty for IL-only).
  PeDirectory metadata() const { return metadata_; }
  PeDirectory managed_native_header() const { return native_header_; }

  static constexpr unsigned max_sections = 96; // the Windows loader's own limit

private:
  struct Section {
    std::uint32_t rva, raw_size, raw_offset;
  };

  Address base_;
  bool mapped_;
  std::vector<Section> sections_;
  PeDirectory metadata_, native_header_;
};

} // namespace clr
