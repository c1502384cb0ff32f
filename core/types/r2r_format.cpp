#include "core/types/r2r_format.h"

#include "core/memory/pe_layout.h"

namespace clr {
namespace {

constexpr std::uint64_t section_size = 12;

std::vector<R2RHeader::Section> read_sections(const ByteRange& count_at, R2RImageBytes& image,
                                              std::uint32_t rva) {
  const std::uint32_t count = count_at.u32(0);
  if (count > R2RHeader::max_sections)
    throw_corrupt(count_at.begin(), "ReadyToRun header with too many sections");
  const ByteRange table = image.range(rva, static_cast<std::uint32_t>(count * section_size));
  std::vector<R2RHeader::Section> sections;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t at = i * section_size;
    sections.push_back({static_cast<R2RSection>(table.u32(at)), table.u32(at + 4), table.u32(at + 8)});
  }
  return sections;
}

} // namespace

std::optional<R2RHeader::Section> R2RHeader::find(R2RSection type) const {
  for (const Section& section : sections)
    if (section.type == type) return section;
  return std::nullopt;
}

R2RHeader read_r2r_header(R2RImageBytes& image, std::uint32_t rva) {
  R2RHeader header;
  const ByteRange fixed = image.range(rva, 16);
  if (fixed.u32(0) != ready_to_run_signature) throw_corrupt(fixed.begin(), "no ReadyToRun header");
  header.major = fixed.u16(4);
  header.minor = fixed.u16(6);
  header.flags = fixed.u32(8);
  header.sections = read_sections(fixed.from(12), image, rva + 16);
  return header;
}

R2RHeader read_r2r_core_header(R2RImageBytes& image, std::uint32_t rva) {
  R2RHeader header;
  const ByteRange fixed = image.range(rva, 8);
  header.flags = fixed.u32(0);
  header.sections = read_sections(fixed.from(4), image, rva + 8);
  return header;
}

} // namespace clr
