#include "core/debuginfo/bounds.h"

#include <fmt/format.h>

namespace clr {
namespace {

// Stored IL offsets are greater by this number, so that none is negative.
constexpr std::int64_t il_bias = 3;
// The source values of .NET 7 to 9.
constexpr std::uint32_t old_stack_empty = 0x02, old_call_instruction = 0x10, old_sources = 0x1F;
constexpr unsigned max_width = 32; // bits of a field
// The shortest entry has one nibble for each of its integers.
constexpr std::size_t nibbles_per_bound = 3;

[[noreturn]] void bad_count(const DebugInfoChunk& chunk, std::uint32_t count) {
  throw_corrupt(chunk.address,
                fmt::format("{} boundaries in {} bytes of debug info", count, chunk.bytes.size()));
}

// Adds entries; their native offsets are stored as deltas.
class BoundsWriter {
public:
  BoundsWriter(const DebugInfoChunk& chunk, std::uint32_t count) : chunk_(chunk) { bounds_.reserve(count); }

  void add(std::uint32_t native_delta, std::uint32_t biased_il, std::uint8_t source) {
    native_ += native_delta;
    const std::int64_t il = biased_il - il_bias;
    if (native_ > 0xFFFF'FFFFu || il > 0x7FFF'FFFF)
      throw_corrupt(chunk_.address, "an offset of more than 32 bits in debug info");
    bounds_.push_back({.native = static_cast<std::uint32_t>(native_),
                       .il = static_cast<std::int32_t>(il),
                       .source = source});
  }
  std::vector<IlBoundary> take() { return std::move(bounds_); }

private:
  const DebugInfoChunk& chunk_;
  std::vector<IlBoundary> bounds_;
  std::uint64_t native_ = 0;
};

std::uint8_t source_of_old(const DebugInfoChunk& chunk, std::uint32_t old) {
  if (old > old_sources) throw_corrupt(chunk.address, fmt::format("source {:#x} in debug info", old));
  std::uint8_t source = 0;
  if ((old & old_stack_empty) != 0) source |= IlBoundary::stack_empty;
  if ((old & old_call_instruction) != 0) source |= IlBoundary::call_instruction;
  return source;
}

std::vector<IlBoundary> decode_nibbles(const DebugInfoChunk& chunk) {
  NibbleReader in(chunk);
  const std::uint32_t count = in.u32();
  if (count > max_boundaries || count > in.nibbles_left() / nibbles_per_bound) bad_count(chunk, count);
  BoundsWriter bounds(chunk, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t delta = in.u32();
    const std::uint32_t il = in.u32();
    bounds.add(delta, il, source_of_old(chunk, in.u32()));
  }
  return bounds.take();
}

// Takes fields of up to 32 bits from a stream of bytes, lowest bit first.
class BitReader {
public:
  BitReader(const DebugInfoChunk& chunk, std::size_t begin) : chunk_(chunk), next_(begin) {}

  std::uint32_t take(unsigned width) {
    for (; have_ < width; have_ += 8) {
      if (next_ >= chunk_.bytes.size()) chunk_.throw_end(next_);
      bits_ |= std::to_integer<std::uint64_t>(chunk_.bytes[next_++]) << have_;
    }
    const auto value = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << width) - 1));
    bits_ >>= width;
    have_ -= width;
    return value;
  }

private:
  const DebugInfoChunk& chunk_;
  std::size_t next_;
  std::uint64_t bits_ = 0; // at most 39 bits
  unsigned have_ = 0;
};

std::vector<IlBoundary> decode_packed(const DebugInfoChunk& chunk, unsigned source_width) {
  NibbleReader in(chunk);
  const std::uint32_t count = in.u32();
  // The stored widths are less by one.
  const std::uint32_t native_width = in.u32(), il_width = in.u32();
  if (native_width >= max_width || il_width >= max_width)
    throw_corrupt(chunk.address, "a field of more than 32 bits in debug info");
  const unsigned width = source_width + native_width + 1 + il_width + 1;
  if (count > max_boundaries || count > (chunk.bytes.size() - in.next_byte()) * 8 / width)
    bad_count(chunk, count);
  BitReader bits(chunk, in.next_byte());
  BoundsWriter bounds(chunk, count);
  for (std::uint32_t i = 0; i < count; ++i) {
    // The bits have the meaning of IlBoundary's bits.
    const auto source = static_cast<std::uint8_t>(bits.take(source_width));
    const std::uint32_t delta = bits.take(native_width + 1);
    bounds.add(delta, bits.take(il_width + 1), source);
  }
  return bounds.take();
}

} // namespace

std::vector<IlBoundary> decode_bounds(const DebugInfoChunk& chunk, BoundsCoding coding) {
  if (chunk.bytes.empty()) return {};
  switch (coding) {
  case BoundsCoding::nibbles:
    return decode_nibbles(chunk);
  case BoundsCoding::packed_2_bits:
    return decode_packed(chunk, 2);
  case BoundsCoding::packed_3_bits:
    return decode_packed(chunk, 3);
  }
  return {};
}

} // namespace clr
