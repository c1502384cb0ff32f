// The bodies that were found so far in this stop, by address. With them, a second lookup in the same method
// needs no target reads.
#pragma once

#include "core/execution/code_block.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace clr {

// A method body and the facts learned about it. What a lookup needs stands in front, in one line of the CPU's
// cache.
struct alignas(64) KnownBody {
  // A RUNTIME_FUNCTION of the body.
  struct Function {
    Address begin = 0; // Thumb bit removed
    std::uint32_t index = 0;
    // 1 + the place in `functions` of one that belongs to the same function or funclet, as far as a look-up
    // has gone back; its own place: it is the first of them. 0: not looked at.
    std::uint32_t leader = 0;
  };

  Address start = 0; // as in CodeBlock
  Address method_desc = 0;
  const RangeSection* section = nullptr; // kept by the table
  Address code_header = 0;
  std::uint32_t method_index = 0;
  CodeKind kind = CodeKind::jitted;
  bool one_function = false;       // the body is one function without funclets, as its unwind data shows
  bool functions_read = false;     // false for jitted bodies until their functions are first used
  std::vector<Function> functions; // ascending; the cold functions come after the hot ones
  Address gc_info = 0;             // 0: none, or its form does not tell the length
  Address unwind_table = 0;        // of a jitted body, from its header
  std::uint32_t unwind_count = 0;  // the same
  MethodRegions regions;

  // Index in `functions` of the function that covers `address`, an address in the body. There must be at
  // least one function.
  std::size_t function_at(Address address) const;
  bool contains(Address address) const {
    return address - regions.hot_start < regions.hot_size || address - regions.cold_start < regions.cold_size;
  }
  // The block with `ip` as its address.
  CodeBlock seen_from(Address ip) const;
};

class BodyTable {
public:
  // The body whose hot or cold part holds `address`; null when none is known. Valid until the next add().
  // Cost: no reads; a probe of a hash table, some 20 ns when it is in no near cache.
  KnownBody* find(Address address) {
    if (const Slot* slot = slot_of(address)) return &body(slot->body);
    return large_.empty() ? nullptr : find_large(address);
  }
  // The body that was added last; null when there is none. After a lookup that found an unknown body it is
  // that one.
  KnownBody* latest() const { return latest_; }
  // Adds a body of `section`. A part that overlaps a known part is not entered: the first answer in a stop
  // remains. A body of which no part is entered is kept until the next add(), in a place of its own: each
  // look-up of its addresses adds it again.
  KnownBody& add(KnownBody body, const RangeSection& section);
  // Sets the functions of `body`, which this table keeps and which has none yet. The result is the body from
  // then on: where the table becomes too full it forgets all others, as in add().
  KnownBody& set_functions(KnownBody& body, std::vector<KnownBody::Function> functions);
  // The bodies to which addresses lead, and their functions.
  std::size_t size() const { return count_; }
  std::size_t function_count() const { return functions_; }

  // A full table forgets everything, because the walk that filled it does not come back.
  static constexpr std::size_t max_bodies = 1 << 20;
  // Functions of all bodies. Nearly all bodies have one or two; tables of a hostile core overlap, so that
  // each body has tens of thousands.
  static constexpr std::size_t max_functions = 1 << 22;
  // Slots of the parts of all bodies: four for each body. Most need one or two.
  static constexpr std::size_t max_slots = 1 << 22;
  // Parts that span more granules are searched in a sorted list: few methods are so large.
  static constexpr std::uint64_t max_granules = 64;

private:
  // What a part covers of a granule of addresses. A granule that holds many parts has many slots. Four slots
  // fill a line of the CPU's cache, and none lies in two.
  struct Slot {
    Address first = 0;
    std::uint32_t span = 0; // the distance of the last address from the first
    std::uint32_t body = 0; // its number from 1; 0: an empty slot
  };
  struct Part {
    Address end = 0;
    std::uint32_t body = 0;
  };
  static constexpr unsigned granule_bits = 10;
  static constexpr std::uint64_t granule_mask = (std::uint64_t{1} << granule_bits) - 1;
  static constexpr std::size_t first_slots = 1024, bodies_per_chunk = 64;

  std::size_t place_of(std::uint64_t granule) const {
    constexpr std::uint64_t spread = 0x9E37'79B9'7F4A'7C15;
    return static_cast<std::size_t>(granule * spread >> shift_);
  }
  const Slot* slot_of(Address address) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = place_of(address >> granule_bits); slots_[i].body != 0;
         i = (i + 1) & (slots_.size() - 1))
      if (address - slots_[i].first <= slots_[i].span) return &slots_[i];
    return nullptr;
  }
  KnownBody& body(std::uint32_t number) {
    return chunks_[(number - 1) / bodies_per_chunk][(number - 1) % bodies_per_chunk];
  }
  KnownBody* find_large(Address address);
  const RangeSection* keep(const RangeSection& section);
  // False when it is not entered.
  bool add_part(Address begin, std::uint64_t size, std::uint32_t body);
  bool overlaps(Address begin, Address last) const;
  void insert(const Slot& slot);
  void grow();

  std::vector<std::unique_ptr<KnownBody[]>> chunks_; // their places in memory stay
  std::size_t count_ = 0;
  std::size_t functions_ = 0;
  struct Apart {
    KnownBody body;
    RangeSection section;
  };
  std::unique_ptr<Apart> not_entered_; // the last such body
  KnownBody* latest_ = nullptr;
  std::vector<Slot> slots_; // open addressing; the size is a power of two
  std::size_t used_slots_ = 0;
  unsigned shift_ = 64;
  std::map<Address, Part> large_; // by begin
  std::deque<RangeSection> sections_;
  std::unordered_map<Address, const RangeSection*> section_by_begin_;
  const RangeSection* last_section_ = nullptr;
};

} // namespace clr
