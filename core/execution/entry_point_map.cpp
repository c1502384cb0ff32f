#include "core/execution/entry_point_map.h"

#include <fmt/format.h>

namespace clr {
namespace {

// Keys 0 and 1 mean an empty and a deleted slot. The runtime adds a constant to real keys that are that
// small.
constexpr Address empty_key = 0, deleted_key = 1, small_key_shift = 100;

} // namespace

EntryPointMap::EntryPointMap(const Target& target, Address address, bool shifted)
    : target_(&target), buckets_field_(target.field_address(address, "HashMap", "Buckets")),
      stride_(target.size_of("Bucket")),
      mask_(target.find_global("HashMapValueMask").value_or(target.platform().wrap(~Address{0}) >> 1)),
      shifted_(shifted) {
  if (const auto slots = target.find_global("HashMapSlotsPerBucket"); slots && *slots != slots_per_bucket)
    throw Error(ErrorKind::unsupported_contract, fmt::format("hash map with {} slots per bucket", *slots));
  const std::size_t slots_size = std::size_t{slots_per_bucket} * target.pointer_size();
  keys_ = span_.require(target, "Keys", slots_size);
  values_ = span_.require(target, "Values", slots_size);
  if (stride_ < span_.size() || stride_ > target::Record::max_size)
    throw Error(ErrorKind::unsupported_contract, fmt::format("hash map with buckets of {} bytes", stride_));
}

const EntryPointMap::Buckets& EntryPointMap::buckets() const {
  if (buckets_) return *buckets_;
  const Address cells = target_->read_pointer(buckets_field_);
  // The first cell is a header; its first word is the number of the cells that follow.
  const std::uint64_t count = target_->read_pointer(cells);
  if (count < 2 || count > max_buckets) throw_corrupt(cells, fmt::format("hash map with {} buckets", count));
  buckets_ = {.first = cells + stride_, .count = static_cast<std::uint32_t>(count)};
  return *buckets_;
}

EntryPointMap::Bucket EntryPointMap::read_bucket(std::uint32_t index) const {
  const target::Record record(*target_, buckets().first + index * stride_, span_);
  Bucket bucket;
  for (unsigned slot = 0; slot < slots_per_bucket; ++slot) {
    const std::int64_t offset = std::int64_t{slot} * target_->pointer_size();
    bucket.keys[slot] = record.pointer(keys_ + offset);
    bucket.values[slot] = record.pointer(values_ + offset);
  }
  return bucket;
}

Address EntryPointMap::decode(Address stored) const {
  const Address value = stored & mask_;
  return target_->platform().wrap(shifted_ ? value << 1 : value);
}

std::optional<Address> EntryPointMap::find(Address key) const {
  std::uint32_t left = max_probes;
  return find(key, left);
}

std::optional<Address> EntryPointMap::find(Address key, std::uint32_t& left) const {
  if (key <= deleted_key) key += small_key_shift;
  const std::uint32_t count = buckets().count;
  const Address overflow_bit = Address{1} << (8 * target_->pointer_size() - 1);
  std::uint32_t seed = static_cast<std::uint32_t>(key >> 2);
  const std::uint32_t step = 1 + (static_cast<std::uint32_t>(key >> 5) + 1) % (count - 1);
  for (std::uint32_t probe = 0; probe < count; ++probe, seed += step) {
    if (probe == max_probes || left == 0)
      throw_corrupt(buckets().first, "a hash map in which look-ups do not end");
    --left;
    const Bucket bucket = read_bucket(seed % count);
    for (unsigned slot = 0; slot < slots_per_bucket; ++slot)
      if (bucket.keys[slot] == key) return decode(bucket.values[slot]);
    if ((bucket.values[0] & overflow_bit) == 0) return std::nullopt;
  }
  return std::nullopt;
}

} // namespace clr
