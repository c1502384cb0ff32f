// Whether an object begins at an address of the heap. The word at an address does not tell: the handle in a
// System.RuntimeType is the address of a type, too, and objects that have died stay in free memory as they
// were.
#pragma once

#include "core/heap/heap_walker.h"

#include <unordered_map>

namespace clr {

// What holds an address.
struct HeapHolder {
  Address begin = 0;
  std::uint64_t size = 0; // bytes
  bool free = false;      // memory without an object
};

class ObjectStarts {
public:
  // `target` must outlive this. Throws Error{unsupported_contract} when the layouts of types are not there.
  // No reads.
  ObjectStarts(const Target& target, HeapMap map);

  const HeapMap& map() const { return map_; }

  // The object, or the free memory, that holds `address`. Nothing where no object was found by a walk:
  // outside of the ranges of objects, in a gap, during a collection, and farther than max_walk behind the
  // last place that an earlier walk came to. Cost: that of HeapWalker::walk from there, or from the start of
  // the range; at most `stride` bytes where walks have been. Throws nothing for target data.
  std::optional<HeapHolder> holder(Address address);

  static constexpr std::uint64_t max_walk = 64 << 20; // bytes
  static constexpr std::uint64_t stride = 16 * 1024;  // between the places that are kept

private:
  HeapMap map_;
  HeapTypes types_;
  HeapWalker walker_;
  std::unordered_map<Address, std::vector<Address>>
      known_; // range's begin -> places where objects begin, ascending
};

} // namespace clr
