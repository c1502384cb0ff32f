#include "tests/support/gc_info_builder.h"

#include "tests/support/bit_writer.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace clr::test {
namespace {

using Set = std::set<unsigned>;

class Writer {
public:
  explicit Writer(const GcInfoSpec& spec)
      : spec_(spec), arm64_(spec.cpu == Cpu::arm64), unit_(arm64_ ? 4 : 1) {}

  std::vector<std::byte> write() {
    const bool fat = spec_.fat || spec_.flags != 0 || spec_.context || spec_.cookie || spec_.psp_symbol ||
                     spec_.reverse_pinvoke || spec_.outgoing != 0 || !spec_.ranges.empty();
    fat ? write_fat() : write_slim();
    write_safe_points();
    write_ranges();
    write_slots();
    const auto tracked = static_cast<unsigned>(spec_.registers.size() + spec_.stack.size());
    if (tracked != 0) {
      write_safe_point_sets(tracked);
      write_chunks(tracked);
    } else if (!spec_.untracked.empty()) {
      if (!spec_.safe_points.empty()) bits_.put(0, 1);
      if (!spec_.ranges.empty()) bits_.put(0, 4);
    }
    return bits_.bytes();
  }

private:
  bool old() const { return spec_.version <= 3; }
  std::uint64_t units(std::uint64_t bytes) const { return bytes / unit_; }

  void write_slim() {
    bits_.put(0, 1);
    bits_.put(spec_.frame_register ? 1 : 0, 1);
    if (old()) bits_.put(1, 2);
    bits_.variable(units(spec_.length), 8);
    bits_.variable(spec_.safe_points.size(), arm64_ ? 3 : 2);
  }

  void write_fat() {
    unsigned flags = spec_.flags | (spec_.cookie ? 4u : 0) | (spec_.psp_symbol ? 8u : 0) |
                     (spec_.frame_register ? 0x40u : 0) | (spec_.reverse_pinvoke ? 0x200u : 0);
    if (spec_.context) flags |= spec_.context_kind << 4;
    bits_.put(1, 1);
    bits_.put(flags, 10);
    if (old()) bits_.put(1, 4);
    bits_.variable(units(spec_.length), 8);
    const auto& first = spec_.cookie ? spec_.cookie : spec_.context;
    if (first) bits_.variable(units(first->prolog) - 1, 5);
    if (spec_.cookie) bits_.variable(units(spec_.epilog), 3);
    if (spec_.cookie) bits_.signed_variable(spec_.cookie->offset / 8, 6);
    if (spec_.psp_symbol) bits_.signed_variable(*spec_.psp_symbol / 8, 6);
    if (spec_.context) bits_.signed_variable(spec_.context->offset / 8, 6);
    if (spec_.frame_register) bits_.variable(0, arm64_ ? 2 : 3);
    if ((flags & 0x100) != 0)
      for (unsigned n = 0; n < (arm64_ ? 2u : 1u); ++n) bits_.variable(16, 4);
    if (spec_.reverse_pinvoke) bits_.signed_variable(*spec_.reverse_pinvoke / 8, 6);
    bits_.variable(spec_.outgoing / 8, 3);
    bits_.variable(spec_.safe_points.size(), arm64_ ? 3 : 2);
    bits_.variable(spec_.ranges.size(), 1);
  }

  void write_safe_points() {
    const auto width = static_cast<unsigned>(std::bit_width(units(spec_.length) - 1));
    for (const auto& point : spec_.safe_points) bits_.put(units(point.offset) - (old() ? 1 : 0), width);
  }

  void write_ranges() {
    std::uint64_t last = 0;
    for (const auto& range : spec_.ranges) {
      bits_.variable(units(range.begin) - last, 6);
      bits_.variable(units(range.end) - units(range.begin) - 1, 6);
      last = units(range.end);
    }
  }

  void write_slots() {
    bits_.put(spec_.registers.empty() ? 0 : 1, 1);
    if (!spec_.registers.empty()) bits_.variable(spec_.registers.size(), arm64_ ? 3 : 2);
    const bool words = !spec_.stack.empty() || !spec_.untracked.empty();
    bits_.put(words ? 1 : 0, 1);
    if (words) {
      bits_.variable(spec_.stack.size(), 2);
      bits_.variable(spec_.untracked.size(), 1);
    }
    const GcInfoSpec::Slot* last = nullptr;
    for (const auto& slot : spec_.registers) {
      if (last == nullptr || last->flags != 0) {
        bits_.variable(*slot.reg, 3);
        bits_.put(slot.flags, 2);
      } else {
        bits_.variable(*slot.reg - *last->reg - 1, 2);
      }
      last = &slot;
    }
    write_words(spec_.stack);
    write_words(spec_.untracked);
  }

  void write_words(const std::vector<GcInfoSpec::Slot>& slots) {
    const GcInfoSpec::Slot* last = nullptr;
    for (const auto& slot : slots) {
      bits_.put(slot.base, 2);
      if (last == nullptr || last->flags != 0) {
        bits_.signed_variable(slot.offset / 8, 6);
        bits_.put(slot.flags, 2);
      } else {
        bits_.variable(static_cast<std::uint64_t>((slot.offset - last->offset) / 8), 4);
      }
      last = &slot;
    }
  }

  void write_set(BitWriter& to, const Set& set, unsigned size) const {
    to.put(spec_.runs ? 1 : 0, 1);
    if (!spec_.runs) {
      for (unsigned slot = 0; slot < size; ++slot) to.put(set.contains(slot) ? 1 : 0, 1);
      return;
    }
    // The longer kind of run gets the wider groups.
    const bool much_live = 2 * set.size() > size;
    to.put(much_live ? 1 : 0, 1);
    unsigned slot = 0;
    for (bool live = false;; live = !live) {
      unsigned run = 0;
      for (; slot + run < size && set.contains(slot + run) == live;) ++run;
      to.variable(slot == 0 && !live ? run : run - 1, live == much_live ? 4 : 2);
      slot += run;
      if (slot == size) return;
    }
  }

  void write_safe_point_sets(unsigned tracked) {
    if (spec_.safe_points.empty()) return;
    bits_.put(spec_.shared_sets ? 1 : 0, 1);
    if (!spec_.shared_sets) {
      for (const auto& point : spec_.safe_points)
        for (unsigned slot = 0; slot < tracked; ++slot)
          bits_.put(std::ranges::find(point.live, slot) != point.live.end() ? 1 : 0, 1);
      return;
    }
    BitWriter sets;
    std::map<Set, unsigned> known;
    std::vector<unsigned> offsets;
    const std::vector<unsigned>* last = nullptr;
    for (const auto& point : spec_.safe_points) {
      if (last != nullptr && *last == point.live) {
        offsets.push_back(offsets.back());
        continue;
      }
      last = &point.live;
      const Set set(point.live.begin(), point.live.end());
      const auto [at, fresh] = known.try_emplace(set, sets.position());
      if (fresh) write_set(sets, set, tracked);
      offsets.push_back(at->second);
    }
    const unsigned highest = std::ranges::max(offsets);
    const auto width = static_cast<unsigned>(std::bit_width(std::max(1u, highest)));
    bits_.variable(width - 1, 3);
    for (const unsigned offset : offsets) bits_.put(offset, width);
    append(sets);
  }

  void append(const BitWriter& more) {
    bits_.align();
    const std::vector<std::byte> bytes = more.bytes();
    for (unsigned bit = 0; bit < more.position(); ++bit)
      bits_.put(std::to_integer<unsigned>(bytes[bit / 8]) >> bit % 8 & 1, 1);
  }

  void write_chunks(unsigned tracked) {
    if (spec_.ranges.empty()) return;
    // live[n][slot] for instruction n of all ranges.
    std::vector<std::vector<bool>> live;
    for (const auto& range : spec_.ranges)
      for (std::uint64_t offset = range.begin; offset < range.end; offset += unit_) {
        std::vector<bool>& now = live.emplace_back(tracked);
        for (const auto& life : spec_.lives)
          if (offset >= life.begin && offset < life.end) now[life.slot] = true;
      }
    BitWriter chunks;
    std::vector<unsigned> pointers;
    std::vector<bool> before(tracked);
    for (std::size_t first = 0; first < live.size(); first += 64) {
      const std::size_t end = std::min(first + 64, live.size());
      const bool same = std::all_of(live.begin() + static_cast<std::ptrdiff_t>(first),
                                    live.begin() + static_cast<std::ptrdiff_t>(end),
                                    [&](const std::vector<bool>& now) { return now == before; });
      if (same) {
        pointers.push_back(0);
        continue;
      }
      pointers.push_back(chunks.position() + 1);
      Set could;
      for (unsigned slot = 0; slot < tracked; ++slot)
        for (std::size_t n = first; n < end; ++n)
          if (live[n][slot]) could.insert(slot);
      write_set(chunks, could, tracked);
      for (const unsigned slot : could) chunks.put(live[end - 1][slot] ? 1 : 0, 1);
      for (const unsigned slot : could) {
        for (std::size_t n = first + 1; n < end; ++n)
          if (live[n][slot] != live[n - 1][slot]) chunks.put(1 | (n - first) << 1, 7);
        chunks.put(0, 1);
      }
      before = live[end - 1];
    }
    const unsigned highest = std::ranges::max(pointers);
    const auto width = static_cast<unsigned>(std::bit_width(highest));
    bits_.variable(width, 3);
    if (width == 0) return;
    for (const unsigned pointer : pointers) bits_.put(pointer, width);
    append(chunks);
  }

  const GcInfoSpec& spec_;
  bool arm64_;
  std::uint64_t unit_;
  BitWriter bits_;
};

} // namespace

std::vector<std::byte> gc_info_bytes(const GcInfoSpec& spec) {
  return Writer(spec).write();
}

} // namespace clr::test
