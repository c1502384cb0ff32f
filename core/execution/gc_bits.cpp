#include "core/execution/gc_bits.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

void GcBits::corrupt(std::string_view what) const {
  throw_corrupt(at_, fmt::format("GC info with {}", what));
}

// Makes sure that the first `bits` bits of the blob were read.
void GcBits::need(std::uint64_t bits) {
  if (bits > 8 * std::uint64_t{max_gc_info_bytes})
    corrupt(fmt::format("more than {} bytes", max_gc_info_bytes));
  const auto wanted = static_cast<std::size_t>((bits + 7) / 8);
  if (wanted <= size_) return;
  std::size_t got = 0;
  if (wanted <= first_bytes) {
    got = memory_->read_some(at_, std::span(few_).first(first_bytes));
  } else {
    const std::size_t size = std::min(std::max(wanted, 8 * size_), max_gc_info_bytes);
    many_.assign(size + padding, std::byte{0});
    got = memory_->read_some(at_, std::span(many_).first(size));
  }
  if (got < wanted) {
    // The next question reads again from the start.
    many_.clear();
    size_ = 0;
    throw_missing(at_ + got);
  }
  size_ = got;
}

void GcBits::spend(std::uint64_t steps) {
  if (steps > max_gc_steps - steps_) corrupt(fmt::format("lists that take more than {} steps", max_gc_steps));
  steps_ += steps;
}

std::uint32_t GcBits::take(unsigned count) {
  spend(1);
  need(position_ + count);
  const std::span<const std::byte> bytes = many_.empty() ? std::span<const std::byte>(few_) : many_;
  const auto word =
      load<std::uint64_t>(bytes.subspan(static_cast<std::size_t>(position_ / 8)), ByteOrder::little);
  const std::uint64_t value = (word >> position_ % 8) & ((std::uint64_t{1} << count) - 1);
  position_ += count;
  furthest_ = std::max(furthest_, position_);
  return static_cast<std::uint32_t>(value);
}

GcBits::Number GcBits::number(unsigned width) {
  Number number;
  for (;;) {
    const std::uint64_t group = take(width + 1);
    const std::uint64_t value = group & ((std::uint64_t{1} << width) - 1);
    if (number.bits >= 64 || (number.bits != 0 && value << number.bits >> number.bits != value))
      corrupt("a number of more than 64 bits");
    number.value |= value << number.bits;
    number.bits += width;
    if (group >> width == 0) return number;
  }
}

std::uint64_t GcBits::unsigned_number(unsigned width) {
  return number(width).value;
}

std::int64_t GcBits::signed_number(unsigned width) {
  const Number number = this->number(width);
  if (number.bits >= 64) return static_cast<std::int64_t>(number.value);
  const std::uint64_t sign = std::uint64_t{1} << (number.bits - 1);
  return static_cast<std::int64_t>((number.value ^ sign) - sign);
}

} // namespace clr
