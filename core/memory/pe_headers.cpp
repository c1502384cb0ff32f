#include "core/memory/pe_headers.h"

#include "core/memory/byte_range.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint16_t dos_magic = 0x5a4d, pe32_magic = 0x10b, pe32_plus_magic = 0x20b;
constexpr std::uint32_t pe_signature = 0x4550, section_is_writable = 0x8000'0000;
constexpr std::size_t dos_size = 64, coff_size = 24, section_size = 40, directory_size = 8;

// A copy of a header. A header has many small fields, and reading each of them from the target would cost one
// read.
class HeaderBytes {
public:
  HeaderBytes(MemoryReader& memory, Address at, std::size_t size) : bytes_(size), host_(bytes_) {
    memory.read(at, bytes_);
  }
  HeaderBytes(const HeaderBytes&) = delete;
  HeaderBytes& operator=(const HeaderBytes&) = delete;
  ByteRange range() { return {host_, 0, bytes_.size()}; }

private:
  std::vector<std::byte> bytes_;
  HostMemory host_;
};

} // namespace

PeHeaders read_pe_headers(MemoryReader& memory, Address base) {
  HeaderBytes dos_bytes(memory, base, dos_size);
  const ByteRange dos = dos_bytes.range();
  const std::uint32_t offset = dos.u32(0x3c);
  if (dos.u16(0) != dos_magic || offset > PeHeaders::max_offset) throw_corrupt(base, "no PE image");

  const Address coff_at = base + offset;
  HeaderBytes coff_bytes(memory, coff_at, coff_size);
  const ByteRange coff = coff_bytes.range();
  if (coff.u32(0) != pe_signature) throw_corrupt(coff_at, "no PE image");
  PeHeaders headers;
  headers.machine = coff.u16(4);
  const unsigned sections = coff.u16(6);
  const std::uint16_t optional_size = coff.u16(20);
  if (sections > PeHeaders::max_sections) throw_corrupt(coff_at, "PE image with too many sections");

  HeaderBytes rest_bytes(memory, coff_at + coff_size, optional_size + sections * section_size);
  const ByteRange rest = rest_bytes.range();
  const std::uint16_t magic = rest.u16(0);
  if (magic != pe32_magic && magic != pe32_plus_magic) throw_corrupt(coff_at, "PE image of unknown format");
  headers.pe32_plus = magic == pe32_plus_magic;
  headers.preferred_base = headers.pe32_plus ? rest.u64(24) : rest.u32(28);
  headers.image_size = rest.u32(56);
  headers.header_size = rest.u32(60);
  const unsigned first = headers.pe32_plus ? 112 : 96;
  const std::size_t count = std::min<std::size_t>(rest.u32(first - 4), headers.directories.size());
  for (std::size_t i = 0; i < count && first + directory_size * (i + 1) <= optional_size; ++i)
    headers.directories[i] = {rest.u32(first + directory_size * i), rest.u32(first + directory_size * i + 4)};

  for (unsigned i = 0; i < sections; ++i) {
    const std::uint64_t at = optional_size + i * section_size;
    headers.sections.push_back({.rva = rest.u32(at + 12),
                                .virtual_size = rest.u32(at + 8),
                                .raw_offset = rest.u32(at + 20),
                                .raw_size = rest.u32(at + 16),
                                .writable = (rest.u32(at + 36) & section_is_writable) != 0});
  }
  return headers;
}

} // namespace clr
