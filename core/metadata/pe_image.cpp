#include "core/metadata/pe_image.h"

#include "core/metadata/metadata.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t debug_entry_size = 28, cor_size = 72;
constexpr std::size_t max_export_name = 512;

PeDirectory directory_at(const ByteRange& bytes, std::uint64_t at) {
  return {bytes.u32(at), bytes.u32(at + 4)};
}

} // namespace

PeImage::PeImage(MemoryReader& memory, Address base, bool mapped)
    : memory_(&memory), base_(base), mapped_(mapped), headers_(read_pe_headers(memory, base)) {
  if (cor_header().rva == 0) return;
  const std::vector<std::byte> bytes = range_of({cor_header().rva, cor_size}).bytes(0, cor_size);
  HostMemory copy{bytes};
  const ByteRange cor(copy, 0, bytes.size());
  metadata_ = directory_at(cor, 8);
  native_header_ = directory_at(cor, 64);
}

PeImage PeImage::detect(MemoryReader& memory, Address base) {
  try {
    PeImage image(memory, base, true);
    if (image.range_of(image.metadata()).u32(0) == metadata_root_magic) return image;
  } catch (const Error&) {
    // The image is flat, or the core lacks those pages; the flat attempt decides.
  }
  return {memory, base, false};
}

const PeSection* PeImage::section_of(std::uint32_t rva) const {
  for (const PeSection& section : headers_.sections)
    if (rva >= section.rva && rva - section.rva < std::max(section.virtual_size, section.raw_size))
      return &section;
  return nullptr;
}

std::optional<Address> PeImage::address_of(std::uint32_t rva) const {
  if (mapped_) return rva < headers_.image_size ? std::optional(base_ + rva) : std::nullopt;
  if (const PeSection* section = section_of(rva)) {
    const std::uint32_t offset = rva - section->rva;
    if (offset >= section->raw_size) return std::nullopt;
    return base_ + section->raw_offset + offset;
  }
  if (rva < headers_.header_size) return base_ + rva;
  return std::nullopt;
}

ByteRange PeImage::range_from(std::uint32_t rva) const {
  const std::optional<Address> address = address_of(rva);
  if (!address) throw_corrupt(base_ + rva, "RVA outside the image");
  const PeSection* section = section_of(rva);
  std::uint64_t size = 0;
  if (section != nullptr)
    size = (mapped_ ? std::max(section->virtual_size, section->raw_size) : section->raw_size) -
           (rva - section->rva);
  else
    size = (mapped_ ? headers_.image_size : headers_.header_size) - rva;
  return {*memory_, *address, size};
}

ByteRange PeImage::range_of(PeDirectory directory) const {
  const std::optional<Address> address = address_of(directory.rva);
  const std::optional<Address> last = directory.size == 0 ? address
                                      : directory.size - 1 <= 0xffff'ffffu - directory.rva
                                          ? address_of(directory.rva + directory.size - 1)
                                          : std::nullopt;
  if (!address || !last || *last - *address != (directory.size == 0 ? 0 : directory.size - 1))
    throw_corrupt(base_ + directory.rva, "directory outside the image");
  return {*memory_, *address, directory.size};
}

std::optional<std::uint32_t> PeImage::find_export(std::string_view name) const {
  const PeDirectory where = directory(0);
  if (where.rva == 0) return std::nullopt;
  const ByteRange table = range_of(where);
  const std::uint32_t functions = table.u32(20), names = table.u32(24);
  if (names > max_exports) throw_corrupt(table.begin(), "PE image with too many exports");
  const ByteRange addresses = range_from(table.u32(28)), name_rvas = range_from(table.u32(32)),
                  ordinals = range_from(table.u32(36));
  for (std::uint32_t i = 0; i < names; ++i) {
    if (range_from(name_rvas.u32(4 * std::uint64_t{i})).c_string(0, max_export_name) != name) continue;
    const std::uint32_t ordinal = ordinals.u16(2 * std::uint64_t{i});
    if (ordinal >= functions) throw_corrupt(table.begin(), "PE export without an address");
    return addresses.u32(4 * std::uint64_t{ordinal});
  }
  return std::nullopt;
}

std::vector<PeDebugEntry> PeImage::debug_entries() const {
  const PeDirectory where = directory(PeHeaders::debug_directory);
  if (where.rva == 0) return {};
  const std::size_t count = where.size / debug_entry_size;
  if (count > max_debug_entries) throw_corrupt(base_ + where.rva, "debug directory with too many entries");
  const std::vector<std::byte> bytes = range_of(where).bytes(0, count * debug_entry_size);
  HostMemory memory{bytes};
  const ByteRange table(memory, 0, bytes.size());
  std::vector<PeDebugEntry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * debug_entry_size;
    entries.push_back({.time_stamp = table.u32(at + 4),
                       .major = table.u16(at + 8),
                       .minor = table.u16(at + 10),
                       .type = table.u32(at + 12),
                       .data = {table.u32(at + 20), table.u32(at + 16)},
                       .file_offset = table.u32(at + 24)});
  }
  return entries;
}

} // namespace clr
