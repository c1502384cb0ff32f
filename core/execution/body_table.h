// The bodies found so far in a stop, by address: what makes a second lookup in the same method free of target
// reads.
#pragma once

#include "core/execution/code_block.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace clr {

// A method body with what was learned about it.
struct KnownBody {
  // A RUNTIME_FUNCTION of the body.
  struct Function {
    Address begin = 0; // Thumb bit removed
    std::uint32_t index = 0;
  };

  CodeBlock block; // at its start
  MethodRegions regions;
  Address gc_info = 0;             // 0: none, or not in a form that tells the length
  std::vector<Function> functions; // ascending; the cold ones behind the hot ones
  bool functions_read = false;     // jitted bodies get theirs on first use

  // Position in `functions` of the one that covers `address`, which lies in the body. Needs at least one.
  std::size_t function_at(Address address) const;
  bool contains(Address address) const {
    return address - regions.hot_start < regions.hot_size || address - regions.cold_start < regions.cold_size;
  }
  // The block as seen from `ip`.
  CodeBlock seen_from(Address ip) const;
};

class BodyTable {
public:
  // The body that has `address` in its hot or cold part; null when none is known. Valid until the next add().
  // Cost: no reads; a binary search.
  KnownBody* find(Address address);
  // A part that overlaps one that is there is not entered: the first answer of a stop stands.
  KnownBody& add(KnownBody body);
  std::size_t size() const { return bodies_.size(); }

  // What is remembered beyond this is forgotten: the walk that filled the table does not come back.
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
  // Sorted by begin. New parts gather in the small table, so that adding many stays cheap.
  std::vector<Part> parts_;
  std::vector<Address> begins_; // of parts_, dense for the search
  std::vector<Part> recent_;
  Part last_; // the last hit
};

} // namespace clr
