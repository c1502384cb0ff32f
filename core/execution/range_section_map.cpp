#include "core/execution/range_section_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace clr {
namespace {

// Bit 0 of a slot or fragment link marks entries of collectible assemblies.
constexpr Address collectible_tag = 1;

// Memory is missing in whole pages at least.
constexpr Address page_size = 4096;

} // namespace

RangeSectionMap::FragmentFields::FragmentFields(const Target& target) {
  const std::size_t word = target.pointer_size();
  next = span.require(target, "Next", word);
  begin = span.require(target, "RangeBegin", word);
  end = span.require(target, "RangeEndOpen", word);
  section = span.require(target, "RangeSection", word);
}

RangeSectionMap::SectionFields::SectionFields(const Target& target) {
  const std::size_t word = target.pointer_size();
  begin = span.require(target, "RangeBegin", word);
  end = span.require(target, "RangeEndOpen", word);
  flags = span.require(target, "Flags", sizeof(std::uint32_t));
  jit_manager = span.require(target, "JitManager", word);
  r2r_module = span.require(target, "R2RModule", word);
  heap_list = span.require(target, "HeapList", word);
  next_for_delete = span.require(target, "NextForDelete", word);
  range_list = span.optional(target, "RangeList", word);
}

RangeSectionMap::RangeSectionMap(const Target& target)
    : target_(&target), top_(target.field_address(target.global("ExecutionManagerCodeRangeMapAddress"),
                                                  "RangeSectionMap", "TopLevelData")),
      fragment_(target), section_(target) {}

unsigned RangeSectionMap::index(const Platform& platform, Address address, unsigned level) {
  const unsigned leaf_shift = platform.pointer_size == 8 ? 17 : 16;
  return static_cast<unsigned>(address >> (leaf_shift + 8 * (level - 1)) & (slots_per_table - 1));
}

Address RangeSectionMap::slot(Address table, unsigned at) const {
  return target_->read_pointer(table + Address{at} * target_->pointer_size()) & ~collectible_tag;
}

RangeSection RangeSectionMap::read_section(Address address) const {
  const target::Record record(*target_, address, section_.span);
  RangeSection section{.address = address,
                       .begin = record.pointer(section_.begin),
                       .end = record.pointer(section_.end),
                       .flags = record.u32(section_.flags),
                       .jit_manager = record.pointer(section_.jit_manager),
                       .r2r_module = record.pointer(section_.r2r_module),
                       .heap_list = record.pointer(section_.heap_list),
                       .range_list = section_.range_list ? record.pointer(*section_.range_list) : 0,
                       .being_deleted = record.pointer(section_.next_for_delete) != 0};
  // One that holds nothing would hide the code of the section around it.
  if (section.end <= section.begin)
    throw_corrupt(address, fmt::format("range section from {:#x} to {:#x}", section.begin, section.end));
  // The runtime makes a section for one of these, and leaves the others null.
  const int owners = (section.r2r_module != 0 ? 1 : 0) + (section.heap_list != 0 ? 1 : 0) +
                     (section.range_list != 0 ? 1 : 0);
  const bool heap = (section.flags & RangeSection::code_heap) != 0,
             list = (section.flags & RangeSection::range_list_flag) != 0;
  if (owners > 1 || (heap && list) || (list && section.heap_list + section.r2r_module != 0))
    throw_corrupt(address, "range section of two kinds");
  return section;
}

RangeSection RangeSectionMap::section_of(const target::Record& fragment) const {
  RangeSection section = read_section(fragment.pointer(fragment_.section));
  if (section.begin != fragment.pointer(fragment_.begin) || section.end != fragment.pointer(fragment_.end))
    throw_corrupt(section.address, "range section whose fragment has another range");
  return section;
}

std::optional<RangeSection> RangeSectionMap::find(Address address) const {
  const Target& target = *target_;
  Address table = top_;
  for (unsigned level = levels(target.platform()); level > 1; --level) {
    table = slot(table, index(target.platform(), address, level));
    if (table == 0) return std::nullopt;
  }
  std::optional<RangeSection> deleted;
  unsigned seen = 0;
  for (Address fragment = slot(table, index(target.platform(), address, 1)); fragment != 0;) {
    if (++seen > max_fragments)
      throw_corrupt(fragment, "too many range section fragments in one slot, the last");
    const target::Record record(target, fragment, fragment_.span);
    if (address >= record.pointer(fragment_.begin) && address < record.pointer(fragment_.end)) {
      const Address at = record.pointer(fragment_.section);
      if (at == 0) throw_corrupt(fragment, "range section fragment without a section");
      // A new section may already follow one that is being deleted.
      RangeSection section = section_of(record);
      if (!section.being_deleted) return section;
      if (!deleted) deleted = section;
    }
    fragment = record.pointer(fragment_.next) & ~collectible_tag;
  }
  return deleted;
}

// One enumeration of the tree.
struct RangeSectionMap::Walk {
  const RangeSectionMap& map;
  const std::function<void(const RangeSection&)>& visit;
  const std::function<void(Address, const std::string&)>& hole;
  std::unordered_set<Address> tables{};
  std::unordered_set<Address> fragments{};
  std::unordered_set<Address> sections{};
  bool full = false; // beyond max_all_fragments

  void table(Address at, unsigned level) {
    if (full || tables.size() > max_tables) return;
    if (!tables.insert(at).second) return hole(at, "the range map comes back to a table");
    if (tables.size() > max_tables) return hole(at, "the range map has too many tables");
    const Target& target = *map.target_;
    const unsigned word = target.pointer_size();
    // Reads a whole table at once; missing parts of it are holes.
    std::vector<std::byte> raw(std::size_t{slots_per_table} * word);
    for (std::size_t have = 0; have < raw.size();) {
      const std::size_t got =
          target.memory().read_some(at + have, std::span(raw).subspan(have)) / word * word;
      have += got;
      if (have >= raw.size()) break;
      hole(at + have, "slots of the range map are missing");
      // Continue at the next page; the slots in between count as empty.
      const std::size_t missing =
          std::max<std::size_t>(page_size - (at + have) % page_size, word) / word * word;
      const std::size_t end = std::min(have + missing, raw.size());
      std::fill(raw.begin() + static_cast<std::ptrdiff_t>(have),
                raw.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
      have = end;
    }
    for (unsigned i = 0; i < slots_per_table; ++i) {
      const auto bytes = std::span(raw).subspan(std::size_t{i} * word);
      const Address value = (word == 8 ? load<std::uint64_t>(bytes, target.platform().byte_order)
                                       : load<std::uint32_t>(bytes, target.platform().byte_order)) &
                            ~collectible_tag;
      if (value == 0) continue;
      if (level > 1)
        table(value, level - 1);
      else
        chain(value);
    }
  }

  void chain(Address first) {
    const Target& target = *map.target_;
    unsigned seen = 0;
    for (Address fragment = first; fragment != 0 && !full;) {
      if (!fragments.insert(fragment).second) return;
      if (++seen > max_fragments) return hole(fragment, "too many range section fragments in one slot");
      if (fragments.size() > max_all_fragments) {
        full = true;
        return hole(fragment, "the range map has too many fragments: the rest is left out");
      }
      std::optional<target::Record> record;
      try {
        record.emplace(target, fragment, map.fragment_.span);
      } catch (const Error& error) {
        return hole(error.address().value_or(fragment), error.what());
      }
      const Address section = record->pointer(map.fragment_.section);
      try {
        // One bad fragment does not hide a section to which others lead, too.
        if (section != 0 && !sections.contains(section)) {
          const RangeSection found = map.section_of(*record);
          sections.insert(section);
          visit(found);
        }
      } catch (const Error& error) {
        hole(error.address().value_or(section), error.what());
      }
      fragment = record->pointer(map.fragment_.next) & ~collectible_tag;
    }
  }
};

void RangeSectionMap::for_each(const std::function<void(const RangeSection&)>& visit,
                               const std::function<void(Address, const std::string&)>& hole) const {
  Walk{.map = *this, .visit = visit, .hole = hole}.table(top_, levels(target_->platform()));
}

} // namespace clr
