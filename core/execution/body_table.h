// The bodies found so far in a stop, by address: what makes a second lookup in the same method free of target
// reads.
#pragma once

#include "core/execution/code_block.h"

#include <cstdint>
#include <vector>

namespace clr {

class BodyTable {
public:
  // The block whose range [begin, end) holds `address`; null when none is known. No allocation.
  const CodeBlock* find(Address address) const;
  // Ranges must not overlap those that are there; a range that does is left out.
  void add(Address begin, Address end, const CodeBlock& block);
  std::size_t size() const { return begins_.size() + recent_.size(); }

private:
  struct Body {
    Address begin = 0, end = 0;
    std::uint32_t block = 0;
  };
  static const Body* find_in(const std::vector<Body>& bodies, Address address);
  void merge_recent();

  // Sorted by begin. New ranges gather in the small table, so that adding many stays cheap.
  std::vector<Body> bodies_;
  std::vector<Address> begins_; // of bodies_, dense for the search
  std::vector<Body> recent_;
  std::vector<CodeBlock> blocks_;
};

} // namespace clr
