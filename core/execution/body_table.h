// The bodies that were found so far in this stop, by address. With them, a second lookup in the same method
// needs no target reads.
#pragma once

#include "core/execution/code_block.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace clr {

// A method body and the facts learned about it.
struct KnownBody {
  // A RUNTIME_FUNCTION of the body.
  struct Function {
    Address begin = 0; // Thumb bit removed
    std::uint32_t index = 0;
  };

  CodeBlock block; // as seen from the start of the body
  MethodRegions regions;
  Address gc_info = 0;             // 0: none, or its form does not tell the length
  std::vector<Function> functions; // ascending; the cold functions come after the hot ones
  bool functions_read = false;     // false for jitted bodies until their functions are first used

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
  // Cost: no reads; a binary search.
  KnownBody* find(Address address);
  // Adds a body. A part that overlaps a known part is not entered: the first answer in a stop remains.
  KnownBody& add(KnownBody body);
  std::size_t size() const { return bodies_.size(); }

  // A full table forgets everything, because the walk that filled it does not come back.
  static constexpr std::size_t max_bodies = 1 << 20;

private:
  struct Part {
    Address begin = 0, end = 0;
    KnownBody* body = nullptr;
  };
  static const Part* find_in(const std::vector<Part>& parts, Address address);
  const Part* part_at(Address address) const;
  void add_part(Address begin, std::uint64_t size, KnownBody& body);
  void merge_recent();

  std::deque<KnownBody> bodies_;
  // Sorted by begin. New parts are collected in `recent_`, a small table, so that adding many parts stays
  // cheap.
  std::vector<Part> parts_;
  std::vector<Address> begins_; // begins of parts_, in one dense array for the search
  std::vector<Part> recent_;
  Part last_; // the part that was found last
};

} // namespace clr
