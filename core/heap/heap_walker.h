// The objects of a range of the heap, one behind the other.
// Source: dotnet/runtime src/coreclr/gc/gc.cpp (walk_heap_per_heap), src/coreclr/vm/object.h.
#pragma once

#include "core/heap/heap_bytes.h"
#include "core/heap/heap_map.h"

#include <functional>
#include <string>
#include <vector>

namespace clr {

struct HeapObject {
  Address address = 0;
  std::uint64_t size = 0; // bytes, aligned
  std::uint32_t type = 0; // its number in HeapTypes
};

// Memory of the heap in which no objects could be found.
struct HeapGap {
  Address address = 0;
  std::uint64_t bytes = 0;
  std::string why;
  bool missing = false; // the memory is not there; else what is there makes no sense
};

class HeapWalker {
public:
  // `map` and `types` must outlive this. One thread uses it; others may use other walkers at the same time.
  HeapWalker(const HeapMap& map, HeapTypes& types);

  // Objects in ascending order, free memory among them. Valid during the call. False: no more are wanted.
  using Visit = std::function<bool(std::span<const HeapObject>)>;
  // Visits the objects of `range`. Where none can be, the walk goes on behind the next memory that was given
  // to a thread, for there the next object begins; in the middle of a collection, at the next word that is a
  // type's address. What lies between goes to `gaps`. Returns false when the visitor did. Cost: 1 read for
  // each HeapBytes::piece, and that of HeapTypes::find. Throws nothing for target data.
  bool walk(const HeapRange& range, const Visit& visit, std::vector<HeapGap>& gaps);

  static constexpr std::size_t batch = 1024; // objects of one visit
  // How far a walk in the middle of a collection looks for the next object.
  static constexpr std::uint64_t max_search = 64 * 1024;
  static constexpr std::size_t max_gaps = 10'000; // of one walk; the last one then holds all that follow

private:
  struct Known {
    Address method_table = 0; // 0: an empty slot
    std::uint32_t number = 0, base_size = 0, component_size = 0;
    bool has_elements = false;
  };

  template<typename Words>
  bool walk_with(const HeapRange& range, const Visit& visit, std::vector<HeapGap>& gaps);
  const Known* find(Address method_table, const char*& why);
  Address next_object(Address at, const HeapRange& range, bool missing);
  void grow();

  const HeapMap* map_;
  HeapTypes* types_;
  HeapBytes bytes_;
  Platform platform_;
  Address mark_bits_;        // of the word that holds the MethodTable: they belong to the collector
  std::vector<Known> known_; // open addressing; the size is a power of two
  std::size_t known_count_ = 0;
  unsigned shift_ = 0;
  std::vector<HeapObject> objects_;
};

} // namespace clr
