#include "core/execution/nibble_map.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint32_t no_nibble = 0;
constexpr std::uint64_t unit_size = sizeof(std::uint32_t);

constexpr unsigned shift_of(std::uint64_t bucket) {
  return static_cast<unsigned>(28 - 4 * (bucket % NibbleMap::buckets_per_unit));
}

// Offset of the last start in the buckets first..`bucket` of one unit. `unit` is shifted so that the nibble
// of `bucket` is the lowest.
std::optional<std::uint64_t> last_start(std::uint32_t unit, std::uint64_t bucket) {
  for (; unit != 0; unit >>= 4, --bucket)
    if (const std::uint32_t nibble = unit & 15; nibble != no_nibble)
      return bucket * NibbleMap::bucket_bytes + 4 * (nibble - 1);
  return std::nullopt;
}

} // namespace

bool NibbleMap::is_valid(std::uint32_t unit) {
  if (is_pointer(unit)) return (unit & 15) <= last_pointer_nibble;
  for (; unit != 0; unit >>= 4)
    if ((unit & 15) > last_nibble) return false;
  return true;
}

std::uint32_t NibbleMap::unit_of(std::uint64_t bucket) const {
  const std::uint64_t at = unit_size * (bucket / buckets_per_unit);
  const std::uint32_t unit =
      at < lent_.size() && lent_.size() - at >= unit_size
          ? load<std::uint32_t>(lent_.subspan(static_cast<std::size_t>(at)), target_->platform().byte_order)
          : target_->read_u32(units_ + at);
  if (!is_valid(unit)) throw_corrupt(units_ + at, fmt::format("nibble map unit {:#x}", unit));
  return unit;
}

std::optional<Address> NibbleMap::find_start(Address pc) const {
  const Platform& platform = target_->platform();
  if (pc < map_base_) return std::nullopt;
  const auto at = [&](std::uint64_t offset) { return platform.wrap(map_base_ + offset); };
  const auto pointed = [&](std::uint32_t unit) { return at(decode_pointer(unit)); };
  const std::uint64_t offset = pc - map_base_;
  std::uint64_t bucket = offset / bucket_bytes;
  const std::uint64_t nibble_of_pc = offset % bucket_bytes / 4 + 1;

  const std::uint32_t own = unit_of(bucket);
  if (is_pointer(own)) return pointed(own);
  std::uint32_t unit = own >> shift_of(bucket);
  const std::uint32_t nibble = unit & 15;
  if (nibble != no_nibble && nibble <= nibble_of_pc) return at(bucket * bucket_bytes + 4 * (nibble - 1));
  if (bucket % buckets_per_unit != 0)
    if (const auto start = last_start(unit >> 4, bucket - 1)) return at(*start);

  // Search the units before. Version 2 marks every unit that a method covers, so one unit is enough.
  const std::uint64_t limit = version_ == NibbleMapVersion::constant_time ? 1 : max_units_back;
  for (std::uint64_t back = 0; back < limit; ++back) {
    if (bucket < buckets_per_unit) return std::nullopt;
    bucket = bucket / buckets_per_unit * buckets_per_unit - 1;
    unit = unit_of(bucket);
    if (is_pointer(unit)) return pointed(unit);
    if (const auto start = last_start(unit, bucket)) return at(*start);
  }
  return std::nullopt;
}

} // namespace clr
