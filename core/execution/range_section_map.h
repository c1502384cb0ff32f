// The range section map: a radix tree over the address space that leads from an address to the range section
// of its owner. Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (RangeSectionMap);
// src/coreclr/vm/codeman.h.
#pragma once

#include "core/execution/code_block.h"
#include "core/target/record.h"

#include <functional>
#include <optional>
#include <string>

namespace clr {

class RangeSectionMap {
public:
  // Resolves the layouts and the address of the map. No reads. Throws Error{unsupported_contract} for missing
  // parts of the descriptor.
  explicit RangeSectionMap(const Target& target);

  // The section that holds `address`: a live one if there is one, else one that is being deleted
  // (RangeSection::being_deleted), else nothing. Cost: one read per level (5 on 64-bit, 2 on 32-bit targets),
  // 1 per fragment and 1 per section. Throws Error{memory_missing}, Error{corrupt}; also for more than
  // max_fragments.
  std::optional<RangeSection> find(Address address) const;

  // Visits every section that the tree leads to, each once, in no particular order. Parts that cannot be read
  // are reported to `hole` and left out: cores that createdump wrote lack thousands of slots. So is what is
  // beyond a limit: the rest of one slot, and, once, the rest of the map.
  void for_each(const std::function<void(const RangeSection&)>& visit,
                const std::function<void(Address, const std::string&)>& hole) const;

  // The section whose structure is at `address`.
  RangeSection read_section(Address address) const;

  // Slot of `address` in a table of `level` (1 = leaf).
  static unsigned index(const Platform& platform, Address address, unsigned level);
  static unsigned levels(const Platform& platform) { return platform.pointer_size == 8 ? 5 : 2; }

  static constexpr unsigned slots_per_table = 256;
  // Of one leaf slot, which stands for 128 KiB of addresses at most: 32 pages, and few of them have held
  // another section that is still being deleted.
  static constexpr unsigned max_fragments = 512;
  // Of the whole map, and so sections, too: enough for 64 GiB of code. Tables and fragments that overlap in
  // memory would else give as many as there are addresses.
  static constexpr std::size_t max_all_fragments = 1 << 19;
  static constexpr std::size_t max_tables = 1 << 16; // enough for at least 2 TiB of code

private:
  struct Walk;
  struct FragmentFields {
    explicit FragmentFields(const Target& target);
    RecordSpan span{"RangeSectionFragment"};
    std::int64_t next, begin, end, section;
  };
  struct SectionFields {
    explicit SectionFields(const Target& target);
    RecordSpan span{"RangeSection"};
    std::int64_t begin, end, flags, jit_manager, r2r_module, heap_list, next_for_delete;
    std::optional<std::int64_t> range_list;
  };
  Address slot(Address table, unsigned index) const;
  // The section of a fragment. Every fragment holds the range of its whole section, so two that differ are
  // not believed.
  RangeSection section_of(const target::Record& fragment) const;

  const Target* target_;
  Address top_;
  FragmentFields fragment_;
  SectionFields section_;
};

} // namespace clr
