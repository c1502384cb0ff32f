#include "core/memory/elf_image.h"
#include "core/memory/elf_records.h"
#include "core/memory/module_file.h"
#include "core/memory/recording_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::size_t min_equal_words = 16; // to prove a module whose build id is not in the core
constexpr std::uint64_t max_page = 65536;   // largest page size of the CPUs that .NET runs on

std::uint64_t page_down(std::uint64_t value, std::uint64_t page = ModuleFile::page) {
  return value / page * page;
}
std::uint64_t page_up(std::uint64_t value, std::uint64_t page = ModuleFile::page) {
  return page_down(value + page - 1, page);
}

// The descriptor is a variable in .data that nobody writes after relocation, and so is the table of pointers
// that it refers to. Source: dotnet/runtime docs/design/datacontracts/contract-descriptor.md.
void add_descriptor(ElfFile& file, std::vector<MemoryRange>& ranges) {
  constexpr std::uint32_t max_pointers = 4096;
  const auto symbol = file.find_symbol("DotNetRuntimeContractDescriptor");
  if (!symbol) return;
  const bool wide = file.platform().pointer_size == 8;
  const std::size_t size = wide ? 40 : 32;
  std::byte raw[40];
  const auto bytes = std::span(raw).first(size);
  if (symbol->size < size || file.read_loaded(symbol->address, 0, bytes) < size) return;
  const ByteOrder order = file.platform().byte_order;
  const auto count = load<std::uint32_t>(bytes.subspan(wide ? 24 : 20), order);
  const std::uint64_t table =
      wide ? load<std::uint64_t>(bytes.subspan(32), order) : load<std::uint32_t>(bytes.subspan(28), order);
  ranges.push_back({symbol->address, size});
  if (count <= max_pointers && table <= ~std::uint64_t{0} - count * 8)
    ranges.push_back({table, std::uint64_t{count} * file.platform().pointer_size});
}

} // namespace

Address ElfModuleFile::bias(const FilePlace& place) const {
  const ElfSegment* first = nullptr;
  for (const ElfSegment& segment : file_.segments())
    if (segment.type == PT_LOAD && (first == nullptr || segment.address < first->address)) first = &segment;
  if (first == nullptr) return 0;
  return file_.platform().wrap(place.base - (first->address - first->file_offset));
}

const ElfSegment* ElfModuleFile::segment_at(const FilePlace& place) const {
  if (place.base == 0 && place.mapping->begin != 0) return nullptr;
  const Address linked = file_.platform().wrap(place.address - bias(place));
  for (const ElfSegment& segment : file_.segments()) {
    if (segment.type != PT_LOAD || segment.file_size == 0) continue;
    // One page of the file may be mapped for two segments, so address and offset must both fit.
    if (linked < page_down(segment.address) || linked >= page_up(segment.address + segment.file_size))
      continue;
    if (segment.file_offset + (linked - segment.address) == place.file_offset()) return &segment;
  }
  return nullptr;
}

std::uint64_t ElfModuleFile::raw_size(const FilePlace& place, const ElfSegment& segment) const {
  const std::uint64_t offset = place.file_offset();
  const std::uint64_t end =
      std::min<std::uint64_t>(page_up(segment.file_offset + segment.file_size), file_.bytes().size());
  return end > offset ? end - offset : 0;
}

FileProof ElfModuleFile::compare_build_id(ElfCore& core, Address load_bias) const {
  if (file_.build_id().empty()) return {};
  for (const ElfSegment& segment : file_.segments()) {
    if (segment.type != PT_NOTE || segment.file_size == 0) continue;
    const auto notes =
        file_.bytes().subspan(segment.file_offset, std::min(segment.file_size, ElfImage::max_notes_size));
    if (find_build_id(notes, file_.platform().byte_order, segment.alignment).empty()) continue;
    std::vector<std::byte> there(notes.size());
    if (core.read_some(file_.platform().wrap(segment.address + load_bias), there) < there.size()) continue;
    if (std::equal(there.begin(), there.end(), notes.begin()))
      return {FileProof::Verdict::proven, "same build id"};
    return {FileProof::Verdict::contradicted, "another build id"};
  }
  return {};
}

FileProof ElfModuleFile::compare_relocated(ElfCore& core, const FilePlace& place) {
  std::size_t equal = 0, different = 0;
  const Address load_bias = bias(place);
  const unsigned size = file_.platform().pointer_size;
  const auto& constants = constant_ranges();
  for (const ElfFile::RelativeWord& word : file_.relative_words()) {
    const bool constant = std::any_of(constants.begin(), constants.end(), [&](const MemoryRange& range) {
      return range.contains(word.address) && range.contains(word.address + size - 1);
    });
    std::byte raw[8];
    const auto there = std::span(raw).first(size);
    if (!constant || core.read_some(file_.platform().wrap(word.address + load_bias), there) < size) continue;
    const std::uint64_t value = size == 8 ? load<std::uint64_t>(there, file_.platform().byte_order)
                                          : load<std::uint32_t>(there, file_.platform().byte_order);
    ++(value == file_.platform().wrap(word.addend + load_bias) ? equal : different);
  }
  if (different != 0)
    return {FileProof::Verdict::contradicted,
            fmt::format("{} of {} relocated words differ", different, equal + different)};
  if (equal >= min_equal_words)
    return {FileProof::Verdict::proven, fmt::format("same {} relocated words", equal)};
  return {};
}

FileProof ElfModuleFile::identify(ElfCore& core, const std::vector<FilePlace>& places) {
  find_split_mappings(places);
  const auto module = std::find_if(places.begin(), places.end(),
                                   [](const FilePlace& place) { return place.mapping->file_offset == 0; });
  if (module == places.end()) return {};
  FileProof by_id = compare_build_id(core, bias(*module));
  if (by_id.verdict != FileProof::Verdict::unknown) return by_id;
  return compare_relocated(core, *module);
}

// The loader maps a segment in one piece, and the kernel joins neighbours unless one of them was written to.
// So a smaller piece between others is one whose protection was removed for a while.
void ElfModuleFile::find_split_mappings(const std::vector<FilePlace>& places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ElfSegment* segment = segment_at(places[i]);
    if (segment == nullptr || segment->writable) continue;
    const FileMapping& mapping = *places[i].mapping;
    const auto size = [](const FilePlace& place) { return place.mapping->end - place.mapping->begin; };
    const bool after_one =
        i > 0 && places[i - 1].mapping->end == mapping.begin && segment_at(places[i - 1]) == segment;
    const bool before_one = i + 1 < places.size() && places[i + 1].mapping->begin == mapping.end &&
                            segment_at(places[i + 1]) == segment;
    if (!after_one && !before_one) continue;
    if (after_one && size(places[i - 1]) <= size(places[i])) continue;
    if (before_one && size(places[i + 1]) <= size(places[i])) continue;
    split_off_.insert(mapping.begin);
  }
}

ElfModuleFile::Layout ElfModuleFile::layout(const std::vector<FilePlace>& places) const {
  return {.fits = std::all_of(places.begin(), places.end(),
                              [&](const FilePlace& place) { return segment_at(place) != nullptr; }),
          .strange = {}};
}

const std::vector<MemoryRange>& ElfModuleFile::constant_ranges() {
  if (!constants_) {
    constants_.emplace();
    const bool is_loaded_by_another = file_.needs_libraries();
    if (const MemoryRange relro = file_.relro(); relro.size != 0 && is_loaded_by_another) {
      // The loader protects whole pages; the rest of the last page stays writable.
      std::uint64_t page_size = page;
      if (const ElfSegment* segment = file_.segment_at(relro.begin))
        page_size = std::clamp(segment->alignment, page, max_page);
      const Address end = page_down(relro.end(), page_size);
      if (end > relro.begin) constants_->push_back({relro.begin, end - relro.begin});
    }
    add_descriptor(file_, *constants_);
    *constants_ = merge_ranges(std::move(*constants_));
  }
  return *constants_;
}

std::size_t ElfModuleFile::read(const FilePlace& place, std::span<std::byte> out) {
  const ElfSegment* segment = segment_at(place);
  if (segment == nullptr) return 0;
  if (!lend(place, 1).bytes.empty()) {
    const std::size_t size = std::min<std::uint64_t>(out.size(), raw_size(place, *segment));
    std::memcpy(out.data(), file_.bytes().data() + place.file_offset(), size);
    return size;
  }
  if (!segment->writable) return 0;
  const Address linked = file_.platform().wrap(place.address - bias(place));
  for (const MemoryRange& range : constant_ranges()) {
    if (!range.contains(linked)) continue;
    const std::size_t size = std::min<std::uint64_t>(out.size(), range.end() - linked);
    return file_.read_loaded(linked, bias(place), out.first(size));
  }
  return 0;
}

LentBytes ElfModuleFile::lend(const FilePlace& place, std::uint64_t size) {
  const ElfSegment* segment = segment_at(place);
  if (segment == nullptr || segment->writable || place.mapped_writable ||
      split_off_.contains(place.mapping->begin))
    return {};
  if (!text_relocations_) text_relocations_ = file_.has_text_relocations();
  if (*text_relocations_ || size > raw_size(place, *segment)) return {};
  return {.bytes = file_.bytes().subspan(place.file_offset(), size)};
}

} // namespace clr
