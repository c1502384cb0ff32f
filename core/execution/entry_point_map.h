// The hash map from entry points of ReadyToRun code to MethodDescs (the runtime's PtrHashMap).
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (HashMap); src/coreclr/vm/hash.cpp.
#pragma once

#include "core/target/target.h"

#include <functional>
#include <optional>

namespace clr {

class EntryPointMap {
public:
  // The embedded HashMap at `address`. `shifted`: values are stored shifted right by one (PtrHashMap). No
  // reads.
  EntryPointMap(const Target& target, Address address, bool shifted = true);

  // Value of `key`; nothing when the map does not hold it. Cost: 2 reads, then 1 to 9 per probe. Throws
  // Error{memory_missing}, Error{corrupt} for a map whose number of buckets cannot be.
  std::optional<Address> find(Address key) const;

  // Every pair, in no particular order.
  void for_each(const std::function<void(Address key, Address value)>& visit) const;

  static constexpr std::uint64_t max_buckets = 1u << 26;
  static constexpr unsigned slots_per_bucket = 4;

private:
  struct Buckets {
    Address first = 0;
    std::uint32_t count = 0;
  };
  Buckets buckets() const;
  Address decode(Address stored) const;

  const Target* target_;
  Address buckets_field_;
  Address keys_, values_, stride_, mask_;
  bool shifted_;
};

} // namespace clr
