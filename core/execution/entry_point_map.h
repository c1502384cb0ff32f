// The hash map from entry points of ReadyToRun code to MethodDescs (the runtime's PtrHashMap).
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (HashMap); src/coreclr/vm/hash.cpp.
#pragma once

#include "core/target/record.h"

#include <array>
#include <optional>

namespace clr {

class EntryPointMap {
public:
  // The HashMap at `address`, which is embedded in another object. `shifted`: values are stored shifted right
  // by one (PtrHashMap). No reads.
  EntryPointMap(const Target& target, Address address, bool shifted = true);

  // The value of `key`; nothing when the map does not hold it. Cost: 1 read per probe, usually one probe; 2
  // more reads in the first call. Throws Error{memory_missing}, Error{corrupt} for a map with an impossible
  // number of buckets, and where a look-up has not ended after max_probes.
  std::optional<Address> find(Address key) const;
  // The same for one of many look-ups, which take their probes from `left`. Throws Error{corrupt}, too, when
  // none is left.
  std::optional<Address> find(Address key, std::uint32_t& left) const;

  static constexpr std::uint64_t max_buckets = 1u << 26;
  // The runtime makes a larger map when it has found no room for a key in 8 buckets.
  static constexpr std::uint32_t max_probes = 128;
  static constexpr unsigned slots_per_bucket = 4;

private:
  struct Buckets {
    Address first = 0;
    std::uint32_t count = 0;
  };
  struct Bucket {
    std::array<Address, slots_per_bucket> keys{}, values{};
  };
  const Buckets& buckets() const;
  Bucket read_bucket(std::uint32_t index) const;
  Address decode(Address stored) const;

  const Target* target_;
  Address buckets_field_;
  RecordSpan span_{"Bucket"};
  std::int64_t keys_, values_;
  std::uint64_t stride_;
  Address mask_;
  bool shifted_;
  mutable std::optional<Buckets> buckets_; // read once
};

} // namespace clr
