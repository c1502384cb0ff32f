#include "core/execution/gc_info.h"

#include "core/isa/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

// Enough bytes for the header and a length of 64 bits in groups of 8.
constexpr std::size_t head_bytes = 16;
// Versions up to this one store the kind of the return value in the header.
constexpr unsigned last_version_with_return_kind = 3;
constexpr unsigned fat_flag_bits = 10, return_kind_bits_slim = 2;

// Bits of a byte string, least significant first. The runtime writes them as words; it runs on no CPU where
// words are not little-endian.
class BitReader {
public:
  // At most head_bytes.
  BitReader(std::span<const std::byte> bytes, Address at) : size_(8 * bytes.size()), at_(at) {
    std::array<std::byte, head_bytes> padded{};
    std::ranges::copy(bytes, padded.begin());
    low_ = load<std::uint64_t>(padded, ByteOrder::little);
    high_ = load<std::uint64_t>(std::span(padded).subspan(8), ByteOrder::little);
  }

  // Fewer than 64 bits.
  std::uint64_t take(unsigned count) {
    if (count > size_) throw_missing(at_ + (position_ + size_) / 8);
    const std::uint64_t value = low_ & ((std::uint64_t{1} << count) - 1);
    if (count != 0) {
      low_ = low_ >> count | high_ << (64 - count);
      high_ >>= count;
    }
    position_ += count;
    size_ -= count;
    return value;
  }

private:
  std::uint64_t low_ = 0, high_ = 0; // the bits that are left
  std::size_t size_;                 // their number
  std::size_t position_ = 0;
  Address at_;
};

// 7 bits a byte, most significant first, top bit = more follow.
std::uint64_t byte_coded_length(std::span<const std::byte> bytes, Address at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    if (i >= bytes.size()) throw_missing(at + i);
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    value = value << 7 | (byte & 0x7F);
    if ((byte & 0x80) == 0) return value;
  }
  throw_corrupt(at, "GC info with an endless code length");
}

std::uint64_t bit_coded_length(std::span<const std::byte> bytes, Address at, const GcInfoForm& form,
                               unsigned version) {
  BitReader bits(bytes, at);
  const bool has_return_kind = version <= last_version_with_return_kind;
  if (bits.take(1) == 0) {
    bits.take(1); // the frame has a stack base register
    if (has_return_kind) bits.take(return_kind_bits_slim);
  } else {
    bits.take(fat_flag_bits);
    if (has_return_kind) bits.take(form.return_kind_bits);
  }
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += form.group_bits) {
    const std::uint64_t group = bits.take(form.group_bits + 1);
    value |= (group & ((1u << form.group_bits) - 1)) << shift;
    if (group >> form.group_bits == 0) return value * form.unit;
  }
  throw_corrupt(at, "GC info with an endless code length");
}

} // namespace

std::uint64_t read_code_length(const Target& target, Address gc_info, unsigned version) {
  std::array<std::byte, head_bytes> raw;
  const std::size_t got = target.memory().read_some(target.platform().wrap(gc_info), raw);
  if (got == 0) throw_missing(gc_info);
  const auto bytes = std::span<const std::byte>(raw).first(got);
  const Cpu cpu = target.platform().cpu;
  const GcInfoForm& form = architecture_of(cpu).gc_info;
  if (form.kind == GcInfoForm::Kind::unknown)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("the GC info of the CPU {} is not supported", to_string(cpu)));
  const std::uint64_t length = form.kind == GcInfoForm::Kind::bytes
                                   ? byte_coded_length(bytes, gc_info)
                                   : bit_coded_length(bytes, gc_info, form, version);
  if (length == 0 || length > max_code_length)
    throw_corrupt(gc_info, fmt::format("GC info with a code length of {}", length));
  return length;
}

} // namespace clr
