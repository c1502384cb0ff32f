// Metadata, signatures and ReadyToRun tables from arbitrary bytes. The input is a PE image when it starts
// like one, else a metadata root. The magics are always valid, so that mutation gets past the first checks.
#include "core/metadata/pe_image.h"
#include "core/types/metadata_names.h"
#include "core/types/r2r_methods.h"

#include <algorithm>
#include <cstring>

using namespace clr;

namespace {

constexpr std::uint32_t most_rows =
    300; // of each table: what a longer run would find, a shorter finds sooner

void name_methods(MetadataNames& names) {
  const std::uint32_t rows = std::min(names.metadata().rows(MetadataTable::method_def), most_rows);
  for (std::uint32_t rid = 1; rid <= rows; ++rid) try {
      const QualifiedMethodName name = names.method(rid);
      format_full_name(name);
      format_sos_name(name);
      format_event_name(name);
      format_perf_map_name(name);
      format_short_name(name);
    } catch (const Error&) {
    }
  const std::uint32_t members = std::min(names.metadata().rows(MetadataTable::member_ref), most_rows);
  for (std::uint32_t rid = 1; rid <= members; ++rid) try {
      format_full_name(names.member(rid));
    } catch (const Error&) {
    }
}

void read_root(MemoryReader& memory, std::size_t size) {
  const Metadata metadata(ByteRange(memory, 0, size));
  MetadataNames names(metadata);
  name_methods(names);
}

void read_image(MemoryReader& memory, bool mapped) {
  const PeImage pe(memory, 0, mapped);
  pe.debug_entries();
  const Metadata metadata(pe.range_of(pe.metadata()));
  MetadataNames names(metadata);
  name_methods(names);
  struct Bytes final : R2RImageBytes {
    explicit Bytes(const PeImage& image) : pe(image) {}
    ByteRange range(std::uint32_t rva, std::uint32_t size) override { return pe.range_of({rva, size}); }
    const PeImage& pe;
  } bytes(pe);
  R2RMethods methods(bytes, pe.managed_native_header().rva, &names, nullptr);
  std::uint32_t left = most_rows;
  for (const R2REntry& entry : methods.entries()) try {
      if (left-- == 0) break;
      format_full_name(methods.name(entry));
    } catch (const Error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), data, size);
  const bool image = data[0] == 'M';
  std::memcpy(bytes.data(), image ? "MZ" : "BSJB", image ? 2 : 4);
  HostMemory memory(bytes);
  try {
    if (image)
      read_image(memory, (data[1] & 1) != 0);
    else
      read_root(memory, size);
  } catch (const Error&) {
  }
  return 0;
}
