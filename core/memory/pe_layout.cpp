#include "core/memory/pe_layout.h"

#include "core/memory/memory_reader.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t coff_size = 20, section_size = 40;
constexpr std::uint16_t magic_pe32 = 0x10b, magic_pe32_plus = 0x20b;
constexpr std::uint32_t section_is_writable = 0x8000'0000;
constexpr unsigned relocation_directory = 5, highlow = 3, dir64 = 10;

using Bytes = std::span<const std::byte>;

template<typename T>
std::optional<T> at(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  return load<T>(bytes.subspan(offset), ByteOrder::little);
}

void parse_relocations(Bytes table, std::vector<PeLayout::Relocation>& out) {
  while (table.size() >= 8) {
    const auto page = *at<std::uint32_t>(table, 0), size = *at<std::uint32_t>(table, 4);
    if (size < 8 || size > table.size()) return;
    for (std::size_t i = 8; i + 2 <= size; i += 2) {
      const auto entry = *at<std::uint16_t>(table, i);
      const unsigned type = entry >> 12;
      if (type != highlow && type != dir64) continue;
      if (out.size() == PeLayout::max_relocations) return;
      out.push_back({page + (entry & 0xfffu), type == dir64 ? 8u : 4u});
    }
    table = table.subspan(size);
  }
}

} // namespace

std::optional<PeLayout> PeLayout::parse(Bytes file) {
  if (at<std::uint16_t>(file, 0) != std::uint16_t{0x5a4d}) return std::nullopt; // "MZ"
  const auto header = at<std::uint32_t>(file, 0x3c);
  if (!header || at<std::uint32_t>(file, *header) != std::uint32_t{0x4550}) return std::nullopt; // "PE"
  const std::uint64_t coff = std::uint64_t{*header} + 4, optional = coff + coff_size;
  const auto section_count = at<std::uint16_t>(file, coff + 2);
  const auto optional_size = at<std::uint16_t>(file, coff + 16);
  const auto magic = at<std::uint16_t>(file, optional);
  if (!section_count || !optional_size || !magic || *section_count > max_sections) return std::nullopt;
  if (*magic != magic_pe32 && *magic != magic_pe32_plus) return std::nullopt;
  const bool plus = *magic == magic_pe32_plus;

  PeLayout layout;
  layout.preferred_base = plus ? at<std::uint64_t>(file, optional + 24).value_or(0)
                               : at<std::uint32_t>(file, optional + 28).value_or(0);
  layout.image_size = at<std::uint32_t>(file, optional + 56).value_or(0);
  layout.header_size = at<std::uint32_t>(file, optional + 60).value_or(0);

  for (std::size_t i = 0; i < *section_count; ++i) {
    const std::uint64_t section = optional + *optional_size + i * section_size;
    if (section + section_size > file.size()) return std::nullopt;
    Section made{.address = *at<std::uint32_t>(file, section + 12),
                 .memory_size = *at<std::uint32_t>(file, section + 8),
                 .file_offset = *at<std::uint32_t>(file, section + 20),
                 .file_size = *at<std::uint32_t>(file, section + 16),
                 .writable = (*at<std::uint32_t>(file, section + 36) & section_is_writable) != 0};
    if (made.file_offset > file.size()) continue;
    made.file_size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(made.file_size, file.size() - made.file_offset));
    layout.sections.push_back(made);
  }

  const std::uint64_t directory = optional + (plus ? 112 : 96) + 8 * relocation_directory;
  const auto table = at<std::uint32_t>(file, directory), table_size = at<std::uint32_t>(file, directory + 4);
  const bool has_directory =
      at<std::uint32_t>(file, optional + (plus ? 108 : 92)).value_or(0) > relocation_directory;
  if (has_directory && table && table_size)
    for (const Section& section : layout.sections) {
      if (*table < section.address || *table - section.address >= section.file_size) continue;
      const std::uint32_t offset = *table - section.address;
      parse_relocations(
          file.subspan(section.file_offset + offset, std::min(*table_size, section.file_size - offset)),
          layout.relocations);
    }
  std::sort(layout.relocations.begin(), layout.relocations.end(),
            [](const Relocation& a, const Relocation& b) { return a.address < b.address; });
  return layout;
}

const PeLayout::Section* PeLayout::section_of_offset(std::uint64_t file_offset) const {
  for (const Section& section : sections)
    if (file_offset >= section.file_offset && file_offset - section.file_offset < section.file_size)
      return &section;
  return nullptr;
}

std::vector<PeLayout::Relocation>::const_iterator PeLayout::first_relocation(std::uint32_t address) const {
  const std::uint32_t from = address < 7 ? 0 : address - 7;
  auto found =
      std::lower_bound(relocations.begin(), relocations.end(), from,
                       [](const Relocation& relocation, std::uint32_t a) { return relocation.address < a; });
  while (found != relocations.end() && found->address < address && address - found->address >= found->size)
    ++found;
  return found;
}

} // namespace clr
