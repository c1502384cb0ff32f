// The types of the heap's objects: what a walk must know of them, numbered in the order in which they are
// met.
// Source: dotnet/runtime docs/design/datacontracts/RuntimeTypeSystem.md; src/coreclr/vm/methodtable.h.
#pragma once

#include "core/target/target.h"

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace clr {

struct HeapType {
  Address method_table = 0;
  std::uint32_t base_size = 0;      // bytes of an object without elements
  std::uint32_t component_size = 0; // bytes of an element; 0: the type has none
  std::uint32_t flags = 0;          // of the MethodTable

  bool has_elements() const { return (flags & 0x8000'0000) != 0; }
  bool has_references() const { return (flags & 0x0100'0000) != 0; }
  bool has_finalizer() const { return (flags & 0x0010'0000) != 0; }
  bool is_collectible() const { return (flags & 0x0020'0000) != 0; }
};

// Target memory is read by one thread at a time, except where a reader says otherwise. All that work on the
// heap of one target share this.
class HeapTypes {
public:
  // `target` must outlive this. Throws Error{unsupported_contract} when it lacks the layouts. No reads.
  explicit HeapTypes(const Target& target);

  // The number of the type at `method_table`; nothing when no type of an object can be there, and `why` says
  // the reason. May be called by several threads. Cost: 2 reads the first time.
  std::optional<std::uint32_t> find(Address method_table, const char*& why);
  // The same, without reads: nothing for a type that was never met.
  std::optional<std::uint32_t> known(Address method_table);
  // May be called by several threads.
  HeapType at(std::uint32_t number);
  std::uint32_t count();

  const Target& target() const { return *target_; }
  // Held while target memory is read.
  std::mutex& reading() { return reading_; }

  static constexpr std::size_t max_types = 1 << 18;
  static constexpr std::uint32_t max_base_size = 256u << 20;

private:
  const Target* target_;
  Address flags_, base_size_;
  std::mutex reading_;
  std::mutex mutex_; // of what follows; taken after reading_, never before
  std::deque<HeapType> types_;
  std::unordered_map<Address, std::uint32_t> numbers_;
};

} // namespace clr
