#include "core/execution/range_section_map.h"

#include <fmt/format.h>

#include <array>
#include <unordered_set>
#include <vector>

namespace clr {
namespace {

// Bit 0 of every slot and fragment link marks what belongs to a collectible assembly.
constexpr Address collectible_tag = 1;

Address offset_of(const Target& target, std::string_view type, std::string_view field) {
  return static_cast<Address>(target.offset(type, field));
}

} // namespace

RangeSectionMap::RangeSectionMap(const Target& target)
    : target_(&target), top_(target.field_address(target.global("ExecutionManagerCodeRangeMapAddress"),
                                                  "RangeSectionMap", "TopLevelData")) {
  fragment_ = {.next = offset_of(target, "RangeSectionFragment", "Next"),
               .begin = offset_of(target, "RangeSectionFragment", "RangeBegin"),
               .end = offset_of(target, "RangeSectionFragment", "RangeEndOpen"),
               .section = offset_of(target, "RangeSectionFragment", "RangeSection")};
  section_ = {.begin = offset_of(target, "RangeSection", "RangeBegin"),
              .end = offset_of(target, "RangeSection", "RangeEndOpen"),
              .flags = offset_of(target, "RangeSection", "Flags"),
              .jit_manager = offset_of(target, "RangeSection", "JitManager"),
              .r2r_module = offset_of(target, "RangeSection", "R2RModule"),
              .heap_list = offset_of(target, "RangeSection", "HeapList"),
              .next_for_delete = offset_of(target, "RangeSection", "NextForDelete"),
              .range_list = {}};
  if (const auto range_list = target.find_offset("RangeSection", "RangeList"))
    section_.range_list = static_cast<Address>(*range_list);
}

unsigned RangeSectionMap::index(const Platform& platform, Address address, unsigned level) {
  const unsigned leaf_shift = platform.pointer_size == 8 ? 17 : 16;
  return static_cast<unsigned>(address >> (leaf_shift + 8 * (level - 1)) & (slots_per_table - 1));
}

Address RangeSectionMap::slot(Address table, unsigned at) const {
  return target_->read_pointer(table + Address{at} * target_->pointer_size()) & ~collectible_tag;
}

RangeSection RangeSectionMap::read_section(Address address) const {
  const Target& target = *target_;
  RangeSection section;
  section.address = address;
  section.begin = target.read_pointer(address + section_.begin);
  section.end = target.read_pointer(address + section_.end);
  section.flags = target.read_u32(address + section_.flags);
  section.jit_manager = target.read_pointer(address + section_.jit_manager);
  section.r2r_module = target.read_pointer(address + section_.r2r_module);
  section.heap_list = target.read_pointer(address + section_.heap_list);
  if (section_.range_list) section.range_list = target.read_pointer(address + *section_.range_list);
  section.being_deleted = target.read_pointer(address + section_.next_for_delete) != 0;
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
  for (Address fragment = slot(table, index(target.platform(), address, 1)); fragment != 0;
       fragment = target.read_pointer(fragment + fragment_.next) & ~collectible_tag) {
    if (++seen > max_fragments) throw_corrupt(fragment, "range section fragments form a loop");
    if (address < target.read_pointer(fragment + fragment_.begin) ||
        address >= target.read_pointer(fragment + fragment_.end))
      continue;
    const Address at = target.read_pointer(fragment + fragment_.section);
    if (at == 0) throw_corrupt(fragment, "range section fragment without a section");
    // A new section may already stand behind one that is being deleted.
    RangeSection section = read_section(at);
    if (!section.being_deleted) return section;
    if (!deleted) deleted = section;
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

  void table(Address at, unsigned level) {
    if (!tables.insert(at).second) return hole(at, "the range map comes back to a table");
    if (tables.size() > max_tables) return;
    const Target& target = *map.target_;
    const unsigned word = target.pointer_size();
    // One read of a whole table; what is missing of it is a hole.
    std::vector<std::byte> raw(std::size_t{slots_per_table} * word);
    for (std::size_t have = 0; have < raw.size();) {
      const std::size_t got =
          target.memory().read_some(at + have, std::span(raw).subspan(have)) / word * word;
      have += got;
      if (have < raw.size()) {
        hole(at + have, "a slot of the range map");
        have += word; // stays zero: an empty slot
      }
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
    for (Address fragment = first; fragment != 0 && ++seen <= max_fragments;) {
      if (!fragments.insert(fragment).second) return;
      try {
        const Address section = target.read_pointer(fragment + map.fragment_.section);
        if (section != 0 && sections.size() < max_sections && sections.insert(section).second)
          visit(map.read_section(section));
      } catch (const Error& error) {
        hole(error.address().value_or(fragment), error.what());
      }
      try {
        fragment = target.read_pointer(fragment + map.fragment_.next) & ~collectible_tag;
      } catch (const Error& error) {
        return hole(error.address().value_or(fragment), error.what());
      }
    }
  }
};

void RangeSectionMap::for_each(const std::function<void(const RangeSection&)>& visit,
                               const std::function<void(Address, const std::string&)>& hole) const {
  Walk{.map = *this, .visit = visit, .hole = hole}.table(top_, levels(target_->platform()));
}

} // namespace clr
