// A synthetic runtime with a garbage collector: its variables, heaps, segments and threads, written by the
// documents and not by the product's code.
#pragma once

#include "core/heap/heap_map.h"
#include "core/heap/heap_types.h"
#include "tests/support/target_builder.h"

#include <array>
#include <string>
#include <vector>

namespace clr::test {

struct HeapRuntime {
  // server_heaps 0: the workstation collector.
  explicit HeapRuntime(Platform platform, bool regions = true, unsigned server_heaps = 0);

  static constexpr Address module = 0x7000'0000, memory_begin = 0x2000'0000;
  static constexpr std::uint64_t region_size = 0x10000;

  TargetBuilder t;
  MemoryBuilder& memory;
  unsigned word; // bytes of a pointer
  Address variables = 0, free_type = 0;
  Address variables_slot = 0; // the pointer variable that leads to `variables`

  // --- types
  Address type(std::uint32_t base_size, std::uint32_t component_size = 0, std::uint32_t flags = 0);
  // --- segments; `end` of the objects, `reserved` 0: a region
  Address segment(unsigned heap, unsigned generation, Address begin, Address end, std::uint64_t flags = 0);
  void set_end(Address segment, Address end);
  void set_ephemeral(unsigned heap, Address segment, Address end);
  void set_generation_start(unsigned heap, unsigned generation, Address at); // of a heap with segments
  // --- memory that was given away
  void context(unsigned heap, unsigned generation, Address begin, Address end);
  void thread_context(Address begin, Address end); // of a new thread
  // --- references: as GCDesc, of a type made with room for them
  struct Series {
    std::uint64_t offset, bytes; // of the run
  };
  Address type_with(std::uint32_t base_size, const std::vector<Series>& series, std::uint32_t flags = 0);
  Address array_of_references(); // its type
  // An array of values of `size` bytes; {references, bytes to skip behind them}, from the element's start +
  // `first`.
  Address array_of_values(std::uint32_t size, std::uint64_t first,
                          const std::vector<std::pair<unsigned, unsigned>>& items);
  // --- handles: a table with one block of 64 for each kind in turn. Returns the handle's place.
  Address handle(unsigned kind, Address object, Address dependent = 0);
  Address handle_table() const { return handle_table_; }
  Address handle_segment() const { return handle_segment_; }
  // --- the finalizer queue of a heap: the objects of each of its seven parts
  Address finalizer_queue(unsigned heap, const std::array<std::vector<Address>, 7>& parts);
  // --- objects: writes one, returns where the next one begins
  // `alignment` 0: that of small objects
  Address object(Address at, Address type, std::uint32_t count = 0, unsigned alignment = 0);
  void set_word(Address at, Address value) { memory.write_integer(at, value, word); }
  void set_variable(std::size_t index, std::uint64_t value); // an int to which a word of GcDacVars points
  void lose_heap(unsigned index);                            // of a server: nothing is where it should be
  Address fresh_region(); // the first object of a new region whose bytes are all there

  Target target() { return t.target(); }

private:
  Address generation(unsigned heap, unsigned number) const;
  std::size_t place(std::size_t bytes) const { return bytes * word / 8; }

  std::vector<Address> heaps_, tables_;
  Address heaps_array_ = 0;
  std::vector<Address> last_thread_;
  Address handle_table_ = 0, handle_segment_ = 0;
  std::vector<unsigned> handle_blocks_; // their kinds
  std::vector<unsigned> handle_counts_; // used in each
  Address queue_variable_ = 0;
  Address next_region_ = memory_begin, store_ = 0, link_ = 0, ephemeral_ = 0, alloc_allocated_ = 0;
  std::array<Address, 36> words_{};
};

} // namespace clr::test
