// What keeps a collectible assembly alive: each object of one of its types holds, without a field, the
// managed LoaderAllocator of the type's module. Source: dotnet/runtime src/coreclr/vm/loaderallocator.hpp,
// ceeload.h, methodtable.h; src/coreclr/gc/gc.cpp (go_through_object, "collectible").
#pragma once

#include "core/heap/gc_handles.h"
#include "core/heap/heap_types.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace clr {

class LoaderAllocators {
public:
  // `types` must outlive this. No reads.
  LoaderAllocators(HeapTypes& types, const GcHandles& handles);

  // The managed LoaderAllocator of the objects of a type; 0: the type is not collectible, or it is not known.
  // May be called by several threads. Cost: for each collectible type 4 reads, the first time.
  Address of(std::uint32_t type);

private:
  Address read(const HeapType& type);

  HeapTypes* types_;
  std::unordered_map<Address, Address> weak_; // of handles of the kind that allocators have: slot, object
  std::mutex mutex_;                          // of known_; no other is taken while it is held
  std::vector<Address> known_;                // by the number of the type; unknown: not looked at
  static constexpr Address unknown = ~Address{0};
};

} // namespace clr
