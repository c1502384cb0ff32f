// How many elements an array has, and how many of them hold nothing: buffers that were made too large, tables
// that lost their entries.
#pragma once

#include "core/heap/heap_bytes.h"

#include <optional>

namespace clr {

struct ArrayCounts {
  std::uint64_t elements = 0; // of all dimensions
  std::uint32_t element_size = 0;
  std::uint64_t empty = 0; // elements of which every byte is zero
  bool whole = true;       // false: memory is missing; elements there are not counted as empty

  std::uint64_t empty_bytes() const { return empty * element_size; }
};

// Reads arrays one behind the other, of ascending addresses with fewest reads.
class ArrayReader {
public:
  // Throws Error{unsupported_contract} when the runtime does not say what a string is, Error{memory_missing}.
  // 1 read.
  explicit ArrayReader(HeapTypes& types);

  // The elements of an object of `size` bytes, `empty` not counted. Nothing when it is no array (a string is
  // none), or when its count is missing or lies. Cost: that of HeapBytes::from.
  std::optional<ArrayCounts> counts(Address object, std::uint64_t size, Address method_table);
  // The same with `empty`. Cost besides: the bytes of its elements.
  std::optional<ArrayCounts> counts_with_empty(Address object, std::uint64_t size, Address method_table);

private:
  void choose(Address method_table);
  // Its size counts the word before the object.
  std::uint64_t data_offset() const { return type_.base_size - word_; }

  HeapTypes& types_;
  HeapBytes bytes_;
  unsigned word_;
  Address string_ = 0;
  Address chosen_ = 0; // the MethodTable of type_: that of the last object
  HeapType type_;
  bool array_ = false;
};

} // namespace clr
