#include "core/execution/gc_ranges.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {

constexpr unsigned range_width = 6, chunk_pointer_width = 3, change_bits = 6, chunk_units = 64;

} // namespace

// A bit for each of the 64 instructions, for the slots that are live at some of them.
struct GcRangeLives::Chunk {
  struct Life {
    std::uint32_t slot = 0;
    std::uint64_t live_at = 0; // bit n: at instruction n of the chunk
    bool live_behind = false;  // the state with which the chunk ends
  };
  std::vector<Life> lives;

  static GcSlotSet at(const std::vector<Life>& lives, std::uint32_t size, unsigned unit) {
    GcSlotSet set(size);
    for (const Life& life : lives) set.set(life.slot, (life.live_at >> unit & 1) != 0);
    return set;
  }
};

std::vector<GcRange> read_gc_ranges(GcBits& bits, const GcHeader& header, unsigned unit) {
  std::vector<GcRange> ranges;
  const std::uint64_t units = header.code_length / unit;
  std::uint64_t last = 0;
  for (std::uint64_t n = 0; n < header.range_count; ++n) {
    const std::uint64_t gap = bits.unsigned_number(range_width), length = bits.unsigned_number(range_width);
    if (gap >= units - last || length >= units - last - gap) bits.corrupt("a range beyond its code");
    const std::uint64_t begin = last + gap;
    last = begin + length + 1;
    ranges.push_back({begin * unit, last * unit});
  }
  return ranges;
}

GcRangeLives::GcRangeLives(const std::vector<GcRange>& ranges, unsigned unit, std::uint32_t tracked)
    : ranges_(ranges), unit_(unit), tracked_(tracked) {
  for (const GcRange& range : ranges) units_ += (range.end - range.begin) / unit;
}

void GcRangeLives::begin(GcBits& bits) {
  const std::uint64_t width = bits.unsigned_number(chunk_pointer_width);
  if (width > 32) bits.corrupt("pointers of more than 32 bits");
  pointer_bits_ = static_cast<unsigned>(width);
  pointers_at_ = bits.position();
  if (pointer_bits_ == 0) return;
  bits.seek(pointers_at_ + (units_ + chunk_units - 1) / chunk_units * pointer_bits_);
  bits.align_to_byte();
  chunks_at_ = bits.position();
}

std::uint64_t GcRangeLives::pointer_of(GcBits& bits, std::uint64_t chunk) const {
  bits.seek(pointers_at_ + chunk * pointer_bits_);
  return bits.take(pointer_bits_);
}

GcRangeLives::Chunk GcRangeLives::read_chunk(GcBits& bits, std::uint64_t pointer) const {
  bits.seek(chunks_at_ + pointer - 1);
  Chunk chunk;
  const GcSlotSet could = read_gc_slot_set(bits, tracked_);
  for (const std::uint32_t slot : could.members()) chunk.lives.push_back({.slot = slot});
  for (Chunk::Life& life : chunk.lives) {
    life.live_behind = bits.flag();
    life.live_at = life.live_behind ? ~std::uint64_t{0} : 0;
  }
  for (Chunk::Life& life : chunk.lives)
    for (unsigned count = 0; bits.flag(); ++count) {
      if (count == chunk_units) bits.corrupt("more changes of a slot than instructions");
      // The state differs at every instruction before the change.
      life.live_at ^= (std::uint64_t{1} << bits.take(change_bits)) - 1;
    }
  return chunk;
}

std::optional<GcSlotSet> GcRangeLives::at(GcBits& bits, std::uint64_t offset) const {
  std::uint64_t number = 0;
  const auto range = std::ranges::find_if(ranges_, [&](const GcRange& r) {
    if (offset < r.end) return true;
    number += (r.end - r.begin) / unit_;
    return false;
  });
  if (range == ranges_.end() || offset < range->begin) return std::nullopt;
  number += (offset - range->begin) / unit_;
  if (pointer_bits_ == 0 || tracked_ == 0) return GcSlotSet(tracked_);
  const std::uint64_t own = number / chunk_units;
  if (const std::uint64_t pointer = pointer_of(bits, own); pointer != 0)
    return Chunk::at(read_chunk(bits, pointer).lives, tracked_, number % chunk_units);
  GcSlotSet set(tracked_);
  for (std::uint64_t chunk = own; chunk-- > 0;) {
    const std::uint64_t pointer = pointer_of(bits, chunk);
    if (pointer == 0) continue;
    for (const Chunk::Life& life : read_chunk(bits, pointer).lives) set.set(life.slot, life.live_behind);
    break;
  }
  return set;
}

void GcRangeLives::for_each_change(
    GcBits& bits, const std::function<bool(std::uint64_t, std::uint32_t, bool)>& change) const {
  if (pointer_bits_ == 0 || tracked_ == 0) return;
  GcSlotSet told(tracked_); // what the caller knows to be live
  Chunk now;                // of the chunk with instruction `number`, or the last one that has a pointer
  bool has_pointer = false;
  std::uint64_t number = 0;
  const auto tell = [&](std::uint64_t offset, std::uint32_t slot, bool live) {
    if (told.has(slot) == live) return true;
    told.set(slot, live);
    return change(offset, slot, live);
  };
  // Brings `told` to the state at instruction `number`. `all`: it is the first one of a range or of a chunk,
  // where slots that the chunk does not name are dead.
  const auto advance = [&](std::uint64_t offset, bool all) {
    bits.spend(now.lives.size() + (all ? tracked_ / 64 : 0));
    if (all && has_pointer) {
      for (const std::uint32_t slot : told.members()) {
        const auto life = std::ranges::lower_bound(now.lives, slot, {}, &Chunk::Life::slot);
        if ((life == now.lives.end() || life->slot != slot) && !tell(offset, slot, false)) return false;
      }
    }
    for (const Chunk::Life& life : now.lives) {
      const bool live = has_pointer ? (life.live_at >> number % chunk_units & 1) != 0 : life.live_behind;
      if (!tell(offset, life.slot, live)) return false;
    }
    return true;
  };
  for (const GcRange& range : ranges_) {
    told = GcSlotSet(tracked_);
    for (std::uint64_t offset = range.begin; offset < range.end; ++number, offset += unit_) {
      const bool first = offset == range.begin, chunk_begins = number % chunk_units == 0;
      if (chunk_begins) {
        const std::uint64_t pointer = pointer_of(bits, number / chunk_units);
        has_pointer = pointer != 0;
        if (has_pointer) now = read_chunk(bits, pointer);
      }
      // Without a pointer nothing changes within the chunk.
      bits.spend(1);
      if ((has_pointer || first || chunk_begins) && !advance(offset, first || chunk_begins)) return;
    }
  }
}

} // namespace clr
