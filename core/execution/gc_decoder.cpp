#include "core/execution/gc_decoder.h"

#include <algorithm>
#include <bit>

namespace clr {
namespace {

constexpr unsigned set_offset_width = 3, pointer_size_width = 3;
// Versions before this one store the offset of the byte before the return address.
constexpr unsigned first_version_with_return_addresses = 4;

} // namespace

GcDecoder::GcDecoder(const Target& target, Address gc_info, unsigned version)
    : cpu_(target.platform().cpu), unit_(architecture_of(cpu_).gc_info.unit),
      bits_(target.memory(), target.platform().wrap(gc_info)), header_(read_gc_header(bits_, cpu_, version)),
      tables_at_(bits_.position()) {}

void GcDecoder::read_safe_points() {
  const std::uint64_t units = header_.code_length / unit_;
  const auto width = static_cast<unsigned>(std::bit_width(units - 1));
  const std::uint64_t more = header_.version < first_version_with_return_addresses ? 1 : 0;
  for (std::uint64_t n = 0; n < header_.safe_point_count; ++n) {
    const std::uint64_t point = bits_.take(width) + more;
    // The call may be the last instruction, which never returns.
    if (point > units || (n != 0 && point * unit_ <= safe_points_.back()))
      bits_.corrupt("safe points out of order or beyond the code");
    safe_points_.push_back(point * unit_);
  }
}

void GcDecoder::find_safe_point_sets() {
  if (header_.safe_point_count == 0) return;
  if (!bits_.flag()) {
    sets_at_ = bits_.position();
    bits_.seek(sets_at_ + header_.safe_point_count * slots_.tracked);
    return;
  }
  const std::uint64_t width = bits_.unsigned_number(set_offset_width) + 1;
  if (width > 32 || width == 0) bits_.corrupt("offsets of more than 32 bits");
  offset_bits_ = static_cast<unsigned>(width);
  sets_at_ = bits_.position();
  bits_.seek(sets_at_ + header_.safe_point_count * width);
  bits_.align_to_byte();
  shared_sets_at_ = bits_.position();
}

void GcDecoder::read_tables() {
  bits_.begin_work();
  if (tables_read_) return;
  safe_points_.clear();
  ranges_.clear();
  slots_ = {};
  offset_bits_.reset();
  lives_.reset();
  bits_.seek(tables_at_);
  read_safe_points();
  ranges_ = read_gc_ranges(bits_, header_, unit_);
  slots_ = read_gc_slots(bits_, cpu_);
  tables_end_ = bits_.position();
  lives_.emplace(ranges_, unit_, slots_.tracked);
  if (slots_.tracked != 0) {
    find_safe_point_sets();
    if (!ranges_.empty()) {
      // Where the shared sets end is known only when all of them were read; no method has both.
      if (offset_bits_) bits_.corrupt("shared sets of safe points before ranges");
      lives_->begin(bits_);
    }
  }
  tables_read_ = true;
}

const std::vector<std::uint64_t>& GcDecoder::safe_points() {
  read_tables();
  return safe_points_;
}

const std::vector<GcRange>& GcDecoder::ranges() {
  read_tables();
  return ranges_;
}

const GcSlotTable& GcDecoder::slots() {
  read_tables();
  return slots_;
}

std::optional<std::size_t> GcDecoder::safe_point_at(std::uint64_t offset) {
  read_tables();
  const auto found = std::ranges::lower_bound(safe_points_, offset);
  if (found == safe_points_.end() || *found != offset) return std::nullopt;
  return static_cast<std::size_t>(found - safe_points_.begin());
}

GcSlotSet GcDecoder::live_at_safe_point(std::size_t index) {
  read_tables();
  return read_safe_point_set(index);
}

void GcDecoder::for_each_safe_point(
    const std::function<bool(std::uint64_t offset, const GcSlotSet&)>& visit) {
  read_tables();
  for (std::size_t n = 0; n < safe_points_.size(); ++n)
    if (!visit(safe_points_[n], read_safe_point_set(n))) return;
}

GcSlotSet GcDecoder::read_safe_point_set(std::size_t index) {
  if (slots_.tracked == 0) return GcSlotSet();
  if (offset_bits_) {
    bits_.seek(sets_at_ + index * *offset_bits_);
    bits_.seek(shared_sets_at_ + bits_.take(*offset_bits_));
    return read_gc_slot_set(bits_, slots_.tracked);
  }
  bits_.seek(sets_at_ + index * slots_.tracked);
  GcSlotSet set(slots_.tracked);
  for (std::uint32_t slot = 0; slot < slots_.tracked; ++slot)
    if (bits_.flag()) set.set(slot, true);
  return set;
}

std::optional<GcSlotSet> GcDecoder::live_in_range(std::uint64_t offset) {
  read_tables();
  return lives_->at(bits_, offset);
}

void GcDecoder::for_each_change(const std::function<bool(std::uint64_t, std::uint32_t, bool)>& change) {
  read_tables();
  lives_->for_each_change(bits_, change);
}

std::uint64_t GcDecoder::measure() {
  for_each_safe_point([](std::uint64_t, const GcSlotSet&) { return true; });
  for_each_change([](std::uint64_t, std::uint32_t, bool) { return true; });
  if (slots_.tracked == 0 && !slots_.slots.empty()) {
    // The encoder says all the same that there are no sets and no chunks.
    bits_.seek(tables_end_);
    if (!safe_points_.empty()) bits_.take(1);
    if (!ranges_.empty()) bits_.unsigned_number(pointer_size_width);
  }
  return bits_.used_bytes();
}

} // namespace clr
