// Retained sizes: what dies with an object. Not the same as everything that it leads to, some of which others
// hold as well.
#pragma once

#include "core/heap/heap_dominators.h"

#include <vector>

namespace clr {

// Objects, their bytes, and the bytes that die with all of them.
struct RetainedCount {
  std::uint64_t objects = 0, bytes = 0, retained = 0;
};

class HeapRetained {
public:
  // Of the objects that `roots` reach. Walks the heap for sizes. `graph` must outlive this. Cost: that of
  // HeapDominators and of walk_heap; 16 bytes for each object more, which stay.
  // With `groups` of roots, each has a number behind those of all objects, with a retained size, and no type.
  HeapRetained(const HeapMap& map, HeapTypes& types, HeapGraph& graph, std::span<const std::uint32_t> roots,
               const HeapWalkOptions& options = {}, const HeapRootGroups* groups = nullptr);

  bool interrupted() const { return interrupted_; }
  const HeapDominators& dominators() const { return dominators_; }
  // Bytes that die with `object`, its own included; and the number of these objects. 0: it was not reached.
  std::uint64_t retained(std::uint32_t object) const { return retained_[object]; }
  std::uint32_t count(std::uint32_t object) const { return counts_[object]; }
  // Numbers of HeapTypes.
  std::uint32_t type(std::uint32_t object) const { return types_[object]; }

  // At most `most` reached objects with the largest retained sizes, those first. `wanted`: by the number of
  // the type; empty for all types.
  std::vector<std::uint32_t> largest(std::size_t most, const std::vector<bool>& wanted = {}) const;
  // The objects of several types together: what dies with several of them counts once. `group_of`: by the
  // number of the type, below `groups`. Takes 24 bytes for each object while it runs, no recursion.
  std::vector<RetainedCount> by_group(const std::vector<std::uint32_t>& group_of, std::size_t groups) const;
  // Each type by itself.
  std::vector<RetainedCount> by_type() const;

private:
  class Sizes;
  HeapDominators dominators_;
  LargeArray<std::uint64_t> retained_; // all by object
  LargeArray<std::uint32_t> counts_, types_;
  std::size_t type_count_ = 0;
  bool interrupted_ = false;
};

// The bytes of everything that `object` leads to, its own included. Throws nothing. Cost: one look at each of
// the objects; `sizes` gives the bytes of one.
RetainedCount count_reachable(const HeapGraph& graph, std::uint32_t object,
                              const std::function<std::uint64_t(std::uint32_t)>& size);

} // namespace clr
