// Which object refers to which: all references of the heap as numbers of objects, in both directions.
#pragma once

#include "core/heap/gc_handles.h"
#include "core/heap/heap_index.h"
#include "core/heap/reference_map.h"

#include <optional>
#include <vector>

namespace clr {

// References by the object that has them. The numbers of one object lie one behind the other.
class HeapEdges {
public:
  std::span<const std::uint32_t> of(std::uint32_t object) const {
    return std::span(targets_).subspan(begins_[object], begins_[object + 1] - begins_[object]);
  }
  std::size_t count() const { return targets_.size(); }

  // Hints, in this order, that of(object) will be asked for: the second reads what the first has fetched.
  void will_ask(std::uint32_t object) const { will_need(&begins_[object]); }
  void will_read(std::uint32_t object) const { will_need(targets_.data() + begins_[object]); }

private:
  friend class HeapGraph;
  LargeArray<std::uint32_t> begins_; // by object, and one more
  LargeArray<std::uint32_t> targets_;
};

class HeapGraph {
public:
  // Walks the heap twice: for the objects, and for their references. References that do not lead to the start
  // of an object are counted and left out. Edges of dependent handles, and from objects of collectible types
  // to their LoaderAllocator, are among the references. Throws Error{corrupt} for more references than
  // max_references. Cost: twice that of walk_heap.
  HeapGraph(const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
            const HeapWalkOptions& options = {}, unsigned threads = heap_threads());
  // The same of objects that have their numbers already. Walks the heap once.
  HeapGraph(HeapIndex index, const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
            const HeapWalkOptions& options = {}, unsigned threads = heap_threads());

  const HeapIndex& index() const { return index_; }
  const HeapEdges& out() const { return out_; }
  // Made at the first call, by so many threads. No reads.
  const HeapEdges& in(unsigned threads = heap_threads());
  bool interrupted() const { return interrupted_; }

  struct Stray {
    Address object = 0, value = 0;
    std::uint64_t offset = 0;
  };
  // References that lead to no object: their number, and the first ones.
  std::uint64_t stray_count() const { return stray_count_; }
  const std::vector<Stray>& strays() const { return strays_; }

  static constexpr std::uint64_t max_references = ~std::uint32_t{0};
  static constexpr std::size_t max_strays = 1000; // that are kept

private:
  void read_references(const HeapMap& map, ReferenceMaps& maps, const GcHandles& handles,
                       const HeapWalkOptions& options, unsigned threads);

  HeapIndex index_;
  HeapEdges out_;
  std::optional<HeapEdges> in_;
  std::vector<Stray> strays_;
  std::uint64_t stray_count_ = 0;
  bool interrupted_ = false;
};

// For each object from which no other leads to it: from where it is reached on a shortest way.
class HeapTree {
public:
  static constexpr std::uint32_t unreached = ~std::uint32_t{0};

  // From the objects of `roots`, of which the first ones come first. Calls `progress` as HeapWalkOptions.
  // No reads.
  HeapTree(const HeapGraph& graph, std::span<const std::uint32_t> roots, const HeapWalkOptions& options = {});

  bool reached(std::uint32_t object) const { return parents_[object] != unreached; }
  // The index in `roots` when the object is one of them; nothing for any other.
  std::optional<std::uint32_t> root_of(std::uint32_t object) const {
    const std::uint32_t parent = parents_[object];
    return parent != unreached && (parent & root_bit) != 0 ? std::optional(parent & ~root_bit) : std::nullopt;
  }
  // The object before it; only for one that was reached and is no root.
  std::uint32_t parent(std::uint32_t object) const { return parents_[object]; }
  std::uint32_t reached_count() const { return reached_; }
  bool interrupted() const { return interrupted_; }

  // The way from a root's object to `object`, both included.
  struct Path {
    std::vector<std::uint32_t> first, last; // from the root on; up to the object
    std::size_t left_out = 0;               // between the two
    // Of a way that is all in `last`: leaves at most `most` at each end.
    void cut(std::size_t most);
  };
  // At most `most` objects at each end, greater than 0; nothing when it was not reached. No reads.
  Path path(std::uint32_t object, std::size_t most) const;

private:
  static constexpr std::uint32_t root_bit = std::uint32_t{1} << 31;
  LargeArray<std::uint32_t> parents_;
  std::uint32_t reached_ = 0;
  bool interrupted_ = false;
};

} // namespace clr
