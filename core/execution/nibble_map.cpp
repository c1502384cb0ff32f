#include "core/execution/nibble_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace clr {
namespace {

constexpr std::uint32_t no_nibble = 0;
constexpr std::uint64_t unit_size = sizeof(std::uint32_t);
constexpr std::size_t map_page_size = 4096, units_per_page = map_page_size / unit_size;

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

// Bytes up to the last one that is not 0.
std::size_t size_without_zeros(std::span<const std::byte> raw) {
  std::size_t size = raw.size();
  for (std::uint64_t word = 0; size >= sizeof word; size -= sizeof word) {
    std::memcpy(&word, raw.data() + size - sizeof word, sizeof word);
    if (word != 0) break;
  }
  while (size > 0 && raw[size - 1] == std::byte{0}) --size;
  return size;
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

std::uint64_t NibbleMap::skip_empty_in(std::uint64_t first, std::uint64_t end) const {
  const std::uint64_t at = first * unit_size;
  const auto size = static_cast<std::size_t>((end - first) * unit_size);
  std::array<std::byte, map_page_size> buffer;
  std::span<const std::byte> raw = std::span(buffer).first(size);
  if (at < lent_.size() && lent_.size() - at >= size)
    raw = lent_.subspan(static_cast<std::size_t>(at), size);
  else if (target_->memory().read_some(units_ + at, std::span(buffer).first(size)) != size)
    return end; // the caller learns which unit is missing
  return first + (size_without_zeros(raw) + unit_size - 1) / unit_size;
}

std::uint64_t NibbleMap::skip_empty(std::uint64_t end, std::uint64_t lowest) const {
  while (end > lowest) {
    const Address last = units_ + (end - 1) * unit_size, page = last & ~Address{map_page_size - 1};
    // The units that begin in this page.
    const std::uint64_t first = page <= units_ ? 0 : (page - units_ + unit_size - 1) / unit_size;
    const bool whole = page >= units_ && end * unit_size >= page + map_page_size - units_;
    // Maps that are not aligned alike have other units in a page.
    const Address key = page | (units_ & (unit_size - 1));
    // No more than a page, also where a damaged map would go on at address 0.
    const std::uint64_t begin = std::max({first, lowest, end - std::min<std::uint64_t>(end, units_per_page)});
    if (!empty_->contains(key)) {
      if (const std::uint64_t used = skip_empty_in(begin, end); used != begin) return used;
      if (whole && begin == first) empty_->add(key);
    }
    end = begin;
  }
  return end;
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
  std::uint64_t end = bucket / buckets_per_unit, singly = single_units;
  const std::uint64_t lowest = end - std::min(end, limit);
  while (end > lowest) {
    if (singly == 0) {
      end = skip_empty(end, lowest);
      singly = units_per_page; // where a part of the page is missing
      continue;
    }
    --singly;
    bucket = end-- * buckets_per_unit - 1;
    unit = unit_of(bucket);
    if (is_pointer(unit)) return pointed(unit);
    if (const auto start = last_start(unit, bucket)) return at(*start);
  }
  return std::nullopt;
}

} // namespace clr
