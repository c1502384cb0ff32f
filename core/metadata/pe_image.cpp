#include "core/metadata/pe_image.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint16_t dos_magic = 0x5a4d, pe32_magic = 0x10b, pe32_plus_magic = 0x20b;
constexpr std::uint32_t pe_signature = 0x4550, metadata_magic = 0x424a'5342;
constexpr std::uint32_t max_header_offset = 0x10'0000;
constexpr std::size_t dos_size = 64, coff_size = 24, section_size = 40, debug_entry_size = 28, cor_size = 72;
constexpr unsigned debug_directory = 6;
constexpr std::size_t max_export_name = 512;

PeDirectory directory_at(const ByteRange& bytes, std::uint64_t at) {
  return {bytes.u32(at), bytes.u32(at + 4)};
}

// The header as a copy: many small fields, one read.
std::vector<std::byte> copy_of(MemoryReader& memory, Address at, std::size_t size) {
  std::vector<std::byte> bytes(size);
  memory.read(at, bytes);
  return bytes;
}

} // namespace

PeImage::PeImage(MemoryReader& memory, Address base, bool mapped)
    : memory_(&memory), base_(base), mapped_(mapped) {
  const auto over = [](const std::vector<std::byte>& bytes, HostMemory& host) {
    return ByteRange(host, 0, bytes.size());
  };

  const std::vector<std::byte> dos_bytes = copy_of(memory, base, dos_size);
  HostMemory dos_memory{dos_bytes};
  const ByteRange dos = over(dos_bytes, dos_memory);
  const std::uint32_t offset = dos.u32(0x3c);
  if (dos.u16(0) != dos_magic || offset > max_header_offset) throw_corrupt(base, "no PE image");

  const Address header_at = base + offset;
  const std::vector<std::byte> coff_bytes = copy_of(memory, header_at, coff_size);
  HostMemory coff_memory{coff_bytes};
  const ByteRange coff = over(coff_bytes, coff_memory);
  if (coff.u32(0) != pe_signature) throw_corrupt(header_at, "no PE image");
  machine_ = coff.u16(4);
  const unsigned sections = coff.u16(6);
  const std::uint16_t optional_size = coff.u16(20);
  if (sections > max_sections) throw_corrupt(header_at, "PE image with too many sections");

  const std::vector<std::byte> rest_bytes =
      copy_of(memory, header_at + coff_size, optional_size + sections * section_size);
  HostMemory rest_memory{rest_bytes};
  const ByteRange rest = over(rest_bytes, rest_memory);
  const std::uint16_t magic = rest.u16(0);
  if (magic != pe32_magic && magic != pe32_plus_magic) throw_corrupt(header_at, "PE image of unknown format");
  pe32_plus_ = magic == pe32_plus_magic;
  preferred_base_ = pe32_plus_ ? rest.u64(24) : rest.u32(28);
  size_of_image_ = rest.u32(56);
  size_of_headers_ = rest.u32(60);
  const unsigned first_directory = pe32_plus_ ? 112 : 96;
  const std::size_t count = std::min<std::size_t>(rest.u32(first_directory - 4), directories_.size());
  for (std::size_t i = 0; i < count && first_directory + 8 * (i + 1) <= optional_size; ++i)
    directories_[i] = directory_at(rest, first_directory + 8 * i);

  for (unsigned i = 0; i < sections; ++i) {
    const std::uint64_t at = optional_size + i * section_size;
    sections_.push_back({rest.u32(at + 12), rest.u32(at + 8), rest.u32(at + 16), rest.u32(at + 20)});
  }

  if (cor_header().rva == 0) return;
  const ByteRange cor_range = range_of({cor_header().rva, cor_size});
  const std::vector<std::byte> cor_bytes = cor_range.bytes(0, cor_size);
  HostMemory cor_memory{cor_bytes};
  const ByteRange cor = over(cor_bytes, cor_memory);
  metadata_ = directory_at(cor, 8);
  native_header_ = directory_at(cor, 64);
}

PeImage PeImage::detect(MemoryReader& memory, Address base) {
  try {
    PeImage image(memory, base, true);
    if (image.range_of(image.metadata()).u32(0) == metadata_magic) return image;
  } catch (const Error&) {
    // Not laid out by RVA, or the core lacks those pages; the flat attempt tells.
  }
  return {memory, base, false};
}

const PeImage::Section* PeImage::section_of(std::uint32_t rva) const {
  for (const Section& section : sections_)
    if (rva >= section.rva && rva - section.rva < std::max(section.virtual_size, section.raw_size))
      return &section;
  return nullptr;
}

std::optional<Address> PeImage::address_of(std::uint32_t rva) const {
  if (mapped_) return rva < size_of_image_ ? std::optional(base_ + rva) : std::nullopt;
  if (const Section* section = section_of(rva)) {
    const std::uint32_t offset = rva - section->rva;
    if (offset >= section->raw_size) return std::nullopt;
    return base_ + section->raw_offset + offset;
  }
  if (rva < size_of_headers_) return base_ + rva;
  return std::nullopt;
}

ByteRange PeImage::range_from(std::uint32_t rva) const {
  const std::optional<Address> address = address_of(rva);
  if (!address) throw_corrupt(base_ + rva, "RVA outside the image");
  const Section* section = section_of(rva);
  std::uint64_t size = 0;
  if (section != nullptr)
    size = (mapped_ ? std::max(section->virtual_size, section->raw_size) : section->raw_size) -
           (rva - section->rva);
  else
    size = (mapped_ ? size_of_image_ : size_of_headers_) - rva;
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
  const PeDirectory where = directory(debug_directory);
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
