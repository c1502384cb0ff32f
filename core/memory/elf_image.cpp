#include "core/memory/elf_image.h"

#include "core/memory/elf_records.h"

#include <algorithm>

namespace clr {

bool ElfImage::is_elf(MemoryReader& memory, Address address) {
  std::byte magic[SELFMAG];
  return memory.read_some(address, magic) == SELFMAG && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

ElfImage::ElfImage(MemoryReader& memory, Address base) : memory_(&memory), base_(base) {
  std::byte raw[sizeof(Elf64_Ehdr)];
  const std::size_t got = memory.read_some(base, raw);
  if (got < EI_NIDENT) throw_missing(base + got);
  const auto format = elf_format(raw);
  if (!format) throw_corrupt(base, "no ELF module");
  if (got < format->header_size()) throw_missing(base + got);
  const GElf_Ehdr header = decode_elf_header(raw, *format);
  platform_ = elf_platform(*format, header);
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    throw_corrupt(base, "an ELF file that is no module");
  // Loaders take no other size of an entry either.
  if (header.e_phnum > max_segments || header.e_phentsize != format->segment_size())
    throw_corrupt(base, "impossible program headers");

  std::vector<std::byte> table(std::size_t{header.e_phnum} * header.e_phentsize);
  memory.read(platform_.wrap(base + header.e_phoff), table);
  const ElfSegment* first = nullptr;
  segments_.reserve(header.e_phnum);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const GElf_Phdr segment = decode_segment(std::span(table).subspan(i * header.e_phentsize), *format);
    segments_.push_back(to_elf_segment(segment));
    if (segment.p_type == PT_LOAD && (first == nullptr || segment.p_vaddr < first->address))
      first = &segments_.back();
  }
  if (first == nullptr) throw_corrupt(base, "an ELF module without PT_LOAD");

  // Address and file offset of a PT_LOAD are equal below the page size, so this is right wherever the first
  // one begins.
  bias_ = platform_.wrap(base - (first->address - first->file_offset));
  entry_ = platform_.wrap(header.e_entry + bias_);
  std::uint64_t size = 0;
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD) continue;
    const MemoryRange place = range_of(segment);
    const std::uint64_t end = platform_.wrap(place.begin - base) + place.size;
    if (end < place.size || end > platform_.wrap(~Address{0}) - base)
      throw_corrupt(base, "an ELF module that leaves the address space");
    size = std::max(size, end);
  }
  range_ = {base, size};
}

MemoryRange ElfImage::range_of(const ElfSegment& segment) const {
  return {platform_.wrap(segment.address + bias_), segment.memory_size};
}

const ElfDynamic& ElfImage::dynamic() {
  if (!dynamic_) {
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [](const ElfSegment& segment) { return segment.type == PT_DYNAMIC; });
    if (found == segments_.end())
      dynamic_.emplace();
    else
      dynamic_.emplace(*memory_, platform_, bias_, range_, range_of(*found));
  }
  return *dynamic_;
}

std::vector<std::uint8_t> ElfImage::build_id() {
  std::optional<Error> missing;
  std::uint64_t left = max_notes_size;
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_NOTE || left == 0) continue;
    const MemoryRange place = range_of(segment);
    std::vector<std::byte> bytes(std::min(place.size, left));
    left -= bytes.size();
    try {
      memory_->read(place.begin, bytes);
    } catch (const Error& error) {
      missing = error;
      continue;
    }
    auto id = find_build_id(bytes, platform_.byte_order, segment.alignment);
    if (!id.empty()) return id;
  }
  if (missing) throw Error(*missing);
  return {};
}

} // namespace clr
