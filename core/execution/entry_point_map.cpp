#include "core/execution/entry_point_map.h"

#include <fmt/format.h>

namespace clr {
namespace {

// Keys 0 and 1 mean an empty and a deleted slot; real keys that small are moved out of the way.
constexpr Address empty_key = 0, deleted_key = 1, small_key_shift = 100;

} // namespace

EntryPointMap::EntryPointMap(const Target& target, Address address, bool shifted)
    : target_(&target), buckets_field_(target.field_address(address, "HashMap", "Buckets")),
      keys_(static_cast<Address>(target.offset("Bucket", "Keys"))),
      values_(static_cast<Address>(target.offset("Bucket", "Values"))), stride_(target.size_of("Bucket")),
      mask_(target.find_global("HashMapValueMask").value_or(target.platform().wrap(~Address{0}) >> 1)),
      shifted_(shifted) {
  if (const auto slots = target.find_global("HashMapSlotsPerBucket"); slots && *slots != slots_per_bucket)
    throw Error(ErrorKind::unsupported_contract, fmt::format("hash map with {} slots per bucket", *slots));
}

EntryPointMap::Buckets EntryPointMap::buckets() const {
  const Address cells = target_->read_pointer(buckets_field_);
  // The first cell is a header; its first word counts the cells that follow.
  const std::uint64_t count = target_->read_pointer(cells);
  if (count < 2 || count > max_buckets) throw_corrupt(cells, fmt::format("hash map with {} buckets", count));
  return {.first = cells + stride_, .count = static_cast<std::uint32_t>(count)};
}

Address EntryPointMap::decode(Address stored) const {
  const Address value = stored & mask_;
  return target_->platform().wrap(shifted_ ? value << 1 : value);
}

std::optional<Address> EntryPointMap::find(Address key) const {
  if (key <= deleted_key) key += small_key_shift;
  const Buckets map = buckets();
  const unsigned word = target_->pointer_size();
  const Address overflow_bit = Address{1} << (8 * word - 1);
  std::uint32_t seed = static_cast<std::uint32_t>(key >> 2);
  const std::uint32_t step = 1 + (static_cast<std::uint32_t>(key >> 5) + 1) % (map.count - 1);
  for (std::uint32_t probe = 0; probe < map.count; ++probe, seed += step) {
    const Address bucket = map.first + seed % map.count * stride_;
    for (unsigned slot = 0; slot < slots_per_bucket; ++slot)
      if (target_->read_pointer(bucket + keys_ + slot * word) == key)
        return decode(target_->read_pointer(bucket + values_ + slot * word));
    if ((target_->read_pointer(bucket + values_) & overflow_bit) == 0) return std::nullopt;
  }
  return std::nullopt;
}

void EntryPointMap::for_each(const std::function<void(Address, Address)>& visit) const {
  const Buckets map = buckets();
  const unsigned word = target_->pointer_size();
  for (std::uint32_t i = 0; i < map.count; ++i) {
    const Address bucket = map.first + i * stride_;
    for (unsigned slot = 0; slot < slots_per_bucket; ++slot) {
      const Address key = target_->read_pointer(bucket + keys_ + slot * word);
      if (key != empty_key && key != deleted_key)
        visit(key, decode(target_->read_pointer(bucket + values_ + slot * word)));
    }
  }
}

} // namespace clr
