#include "core/types/pe_image.h"

#include <array>

namespace clr {
namespace {

template<std::size_t N>
struct Header {
  Header(MemoryReader& memory, Address address) { memory.read(address, bytes); }
  std::uint16_t u16(std::size_t at) const { return load<std::uint16_t>(std::span(bytes).subspan(at), order); }
  std::uint32_t u32(std::size_t at) const { return load<std::uint32_t>(std::span(bytes).subspan(at), order); }

  static constexpr ByteOrder order = ByteOrder::little;
  std::array<std::byte, N> bytes;
};

constexpr std::uint16_t dos_magic = 0x5a4d, pe32 = 0x10b, pe32_plus = 0x20b;
constexpr std::uint32_t pe_signature = 0x4550, max_header_offset = 0x10'0000;
constexpr std::size_t section_size = 40;
constexpr unsigned cor_directory = 14;

} // namespace

PeImage::PeImage(MemoryReader& memory, Address base, bool mapped) : base_(base), mapped_(mapped) {
  const Header<64> dos(memory, base);
  const std::uint32_t offset = dos.u32(0x3c);
  if (dos.u16(0) != dos_magic || offset > max_header_offset) throw_corrupt(base, "no PE image");
  // Signature and COFF header, then as much of the optional header as leads to the COR directory.
  const Header<24 + 112 + 8 * (cor_directory + 1)> pe(memory, base + offset);
  if (pe.u32(0) != pe_signature) throw_corrupt(base + offset, "no PE image");
  const unsigned count = pe.u16(6);
  const std::uint16_t optional_size = pe.u16(20), magic = pe.u16(24);
  if (count > max_sections) throw_corrupt(base + offset, "PE image with too many sections");
  if (magic != pe32 && magic != pe32_plus) throw_corrupt(base + offset, "PE image of unknown format");
  const std::size_t cor = 24 + (magic == pe32 ? 96u : 112u) + 8 * cor_directory;
  const PeDirectory cor_header{pe.u32(cor), pe.u32(cor + 4)};
  if (cor + 8 > 24u + optional_size || cor_header.rva == 0)
    throw_corrupt(base + offset, "PE image without a COR header");

  std::vector<std::byte> table(count * section_size);
  memory.read(base + offset + 24 + optional_size, table);
  for (unsigned i = 0; i < count; ++i) {
    const auto u32 = [&](std::size_t at) {
      return load<std::uint32_t>(std::span(table).subspan(i * section_size + at), ByteOrder::little);
    };
    sections_.push_back({u32(12), u32(16), u32(20)});
  }

  const auto cor_address = address_of(cor_header.rva);
  if (!cor_address) throw_corrupt(base + offset, "COR header outside every section");
  const Header<72> header(memory, *cor_address);
  metadata_ = {header.u32(8), header.u32(12)};
  native_header_ = {header.u32(64), header.u32(68)};
  if (metadata_.rva == 0 || metadata_.size == 0) throw_corrupt(*cor_address, "PE image without metadata");
}

std::optional<Address> PeImage::address_of(std::uint32_t rva) const {
  if (mapped_) return base_ + rva;
  for (const Section& section : sections_) {
    // Beyond the raw data a mapped section is zero; the file has nothing of it.
    if (rva >= section.rva && rva - section.rva < section.raw_size)
      return base_ + section.raw_offset + (rva - section.rva);
  }
  return std::nullopt;
}

} // namespace clr
