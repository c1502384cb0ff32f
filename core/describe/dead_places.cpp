#include "core/describe/dead_places.h"

#include "core/isa/registers.h"

#include <algorithm>

namespace clr {
namespace {

// Versions before this one look callers up elsewhere; of them nothing is said.
constexpr unsigned first_version_by_return_address = 4;
constexpr std::uint64_t most_code = 0x7FFF'FFFF;

NativeRange range(std::uint64_t begin, std::uint64_t end) {
  return {static_cast<std::uint32_t>(std::min(begin, most_code)),
          static_cast<std::uint32_t>(std::min(end, most_code))};
}

// The last byte of the instruction that ends at `offset`.
std::uint64_t byte_before(std::uint64_t offset) {
  return offset == 0 ? 0 : offset - 1;
}

// Sorts them, and joins those that overlap.
void join(std::vector<NativeRange>& ranges) {
  std::ranges::sort(ranges, {}, &NativeRange::begin);
  std::vector<NativeRange> joined;
  for (const NativeRange& next : ranges) {
    if (next.begin >= next.end) continue;
    if (!joined.empty() && next.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, next.end);
    else
      joined.push_back(next);
  }
  ranges = std::move(joined);
}

} // namespace

DeadPlaces::Key DeadPlaces::key_of(const GcSlot& slot) {
  return slot.reg ? Key{slot.reg, GcBase{}, 0} : Key{std::nullopt, slot.base, slot.offset};
}

DeadPlaces::DeadPlaces(const Target& target, const GcInfoLocation& gc_info) {
  if (gc_info.version < first_version_by_return_address) return;
  GcDecoder decoder(target, gc_info.address, gc_info.version);
  cpu_ = decoder.cpu();
  frame_register_ = decoder.header().frame_register;
  const GcSlotTable& table = decoder.slots();
  if (table.tracked == 0) return;
  // One place may have several slots: as an object and as an interior reference. It is dead where all are.
  for (std::uint32_t i = 0; i < table.tracked; ++i) places_.push_back({key_of(table.slots[i]), {}});
  std::ranges::sort(places_, {}, &Place::key);
  const auto same = std::ranges::unique(places_, {}, &Place::key);
  places_.erase(same.begin(), same.end());
  const std::vector<GcRange>& ranges = decoder.ranges();
  const std::size_t looks = ranges.size() + decoder.safe_points().size();
  if (looks > max_dead_steps / places_.size()) {
    places_.clear();
    return;
  }
  steps_ = looks * places_.size();
  std::vector<std::size_t> place_of(table.tracked);
  for (std::uint32_t i = 0; i < table.tracked; ++i)
    place_of[i] = static_cast<std::size_t>(
        std::ranges::lower_bound(places_, key_of(table.slots[i]), {}, &Place::key) - places_.begin());
  std::vector<unsigned> live(places_.size());
  std::vector<std::uint64_t> dead_since(places_.size());
  const auto kill_at = [&](std::uint64_t offset, std::uint64_t begin_of_range) {
    return offset == begin_of_range ? offset : byte_before(offset);
  };
  std::size_t at = 0;
  const auto begin_range = [&] {
    std::ranges::fill(live, 0);
    std::ranges::fill(dead_since, ranges[at].begin);
  };
  const auto end_range = [&] {
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (live[i] == 0)
        places_[i].dead.push_back(range(kill_at(dead_since[i], ranges[at].begin), ranges[at].end));
    if (++at < ranges.size()) begin_range();
  };
  if (!ranges.empty()) begin_range();
  decoder.for_each_change([&](std::uint64_t offset, std::uint32_t slot, bool lives) {
    while (at < ranges.size() && offset >= ranges[at].end) end_range();
    if (at == ranges.size() || ++steps_ > max_dead_steps) return false;
    const std::size_t i = place_of[slot];
    if (lives && live[i]++ == 0)
      places_[i].dead.push_back(range(kill_at(dead_since[i], ranges[at].begin), offset));
    else if (!lives && live[i] != 0 && --live[i] == 0)
      dead_since[i] = offset;
    return true;
  });
  if (steps_ > max_dead_steps) {
    places_.clear();
    return;
  }
  while (at < ranges.size()) end_range();
  decoder.for_each_safe_point([&](std::uint64_t offset, const GcSlotSet& set) {
    std::vector<bool> kept(places_.size());
    for (const std::uint32_t slot : set.members()) kept[place_of[slot]] = true;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (!kept[i]) places_[i].dead.push_back(range(byte_before(offset), offset + 1));
    return true;
  });
  for (Place& place : places_) join(place.dead);
  // A place that is always looked at is always alive.
  std::vector<Key> always;
  for (std::size_t i = table.tracked; i < table.slots.size(); ++i) always.push_back(key_of(table.slots[i]));
  std::ranges::sort(always);
  std::erase_if(places_, [&](const Place& place) { return std::ranges::binary_search(always, place.key); });
}

const DeadPlaces::Place* DeadPlaces::find(const VariableLocation& home) const {
  GcSlot slot;
  if (home.home == VariableHome::reg) {
    slot.reg = dwarf_of_jit_register(cpu_, home.reg);
    if (!slot.reg) return nullptr;
  } else if (home.home == VariableHome::stack) {
    const auto base = dwarf_of_jit_register(cpu_, home.base);
    if (!base) return nullptr;
    if (base == frame_register_)
      slot.base = GcBase::frame;
    else if (*base == register_roles(cpu_).sp)
      slot.base = GcBase::sp;
    else
      return nullptr;
    slot.offset = home.offset;
  } else {
    return nullptr;
  }
  const Key key = key_of(slot);
  const auto known = std::ranges::lower_bound(places_, key, {}, &Place::key);
  return known == places_.end() || known->key != key ? nullptr : &*known;
}

void DeadPlaces::cut(std::vector<DebugVariableRange>& ranges) const {
  if (places_.empty()) return;
  std::vector<DebugVariableRange> left;
  for (DebugVariableRange& home : ranges) {
    const Place* const place = find(home.location);
    if (place == nullptr) {
      left.push_back(std::move(home));
      continue;
    }
    const auto keep = [&](std::uint32_t begin, std::uint32_t end) {
      if (begin >= end) return;
      left.push_back(home);
      left.back().begin = begin;
      left.back().end = end;
    };
    std::uint32_t from = home.begin;
    auto dead = std::ranges::upper_bound(place->dead, home.begin, {}, &NativeRange::end);
    for (; dead != place->dead.end() && dead->begin < home.end; ++dead) {
      keep(from, dead->begin);
      from = std::max(from, dead->end);
    }
    keep(from, home.end);
  }
  ranges = std::move(left);
}

} // namespace clr
