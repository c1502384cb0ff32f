#include "core/metadata/native_format.h"

namespace clr {
namespace {

// Size in bytes of the integer that starts with `first`, by the position of its lowest zero bit.
unsigned encoded_size(const ByteRange& bytes, std::uint64_t at, std::uint8_t first) {
  if ((first & 0x01) == 0) return 1;
  if ((first & 0x02) == 0) return 2;
  if ((first & 0x04) == 0) return 3;
  if ((first & 0x08) == 0) return 4;
  if ((first & 0x10) == 0) return 5;
  throw_corrupt(bytes.begin() + at, "no native-format integer");
}

std::uint32_t little(const ByteRange& bytes, std::uint64_t at, unsigned count) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < count; ++i) value |= std::uint32_t{bytes.u8(at + i)} << (8 * i);
  return value;
}

std::uint32_t read_index(const ByteRange& bytes, std::uint64_t at, unsigned width) {
  switch (width) {
  case 1:
    return bytes.u8(at);
  case 2:
    return bytes.u16(at);
  default:
    return bytes.u32(at);
  }
}

constexpr std::uint32_t block_size = 16;

} // namespace

NativeUnsigned decode_native_unsigned(const ByteRange& bytes, std::uint64_t at) {
  const std::uint8_t first = bytes.u8(at);
  const unsigned size = encoded_size(bytes, at, first);
  if (size == 1) return {std::uint32_t{first} >> 1, at + 1};
  if (size == 5) return {bytes.u32(at + 1), at + 5};
  return {little(bytes, at, size) >> size, at + size};
}

NativeSigned decode_native_signed(const ByteRange& bytes, std::uint64_t at) {
  const std::uint8_t first = bytes.u8(at);
  const unsigned size = encoded_size(bytes, at, first);
  if (size == 5) return {static_cast<std::int32_t>(bytes.u32(at + 1)), at + 5};
  // Sign-extend from the highest encoded bit.
  const unsigned unused = 32 - 8 * size;
  const std::int32_t wide = static_cast<std::int32_t>(little(bytes, at, size) << unused);
  return {wide >> (unused + size), at + size};
}

NativeArray::NativeArray(ByteRange section) : section_(section) {
  const NativeUnsigned header = decode_native_unsigned(section_, 0);
  base_ = header.next;
  count_ = header.value >> 2;
  constexpr unsigned widths[]{1, 2, 4, 0};
  index_width_ = widths[header.value & 3];
  if (index_width_ == 0) throw_corrupt(section_.begin(), "native array with an unknown index width");
  const std::uint64_t blocks = (std::uint64_t{count_} + block_size - 1) / block_size;
  if (blocks * index_width_ > section_.size() - base_)
    throw_corrupt(section_.begin(), "native array exceeds its section");
}

std::optional<std::uint64_t> NativeArray::find(std::uint32_t index) const {
  if (index >= count_) return std::nullopt;
  std::uint64_t at =
      base_ + read_index(section_, base_ + std::uint64_t{index / block_size} * index_width_, index_width_);
  for (std::uint32_t bit = block_size >> 1; bit > 0; bit >>= 1) {
    const NativeUnsigned node = decode_native_unsigned(section_, at);
    if ((index & bit) != 0) {
      if ((node.value & 2) != 0) {
        at += node.value >> 2;
        continue;
      }
    } else if ((node.value & 1) != 0) {
      at = node.next;
      continue;
    }
    // An ordinary node is a leaf; its value is the index of its only element within the block.
    if ((node.value & 3) == 0 && (node.value >> 2) == (index & (block_size - 1))) return node.next;
    return std::nullopt;
  }
  return at;
}

NativeHashtable::NativeHashtable(ByteRange section) : section_(section) {
  const std::uint8_t header = section_.u8(0);
  const unsigned bucket_bits = header >> 2;
  constexpr unsigned max_bucket_bits = 24;
  constexpr unsigned widths[]{1, 2, 4, 0};
  index_width_ = widths[header & 3];
  if (bucket_bits > max_bucket_bits || index_width_ == 0)
    throw_corrupt(section_.begin(), "native hash table with an impossible header");
  mask_ = (1u << bucket_bits) - 1;
  if ((std::uint64_t{mask_} + 2) * index_width_ > section_.size() - base_)
    throw_corrupt(section_.begin(), "native hash table exceeds its section");
}

std::uint64_t NativeHashtable::bucket_start(std::uint32_t index) const {
  return base_ + read_index(section_, base_ + std::uint64_t{index} * index_width_, index_width_);
}

void NativeHashtable::for_each_in_bucket(std::uint32_t bucket,
                                         const std::function<void(std::uint64_t)>& visit) const {
  std::uint64_t at = bucket_start(bucket);
  const std::uint64_t end = bucket_start(bucket + 1);
  while (at < end) {
    at += 1; // the low byte of the hash
    const NativeSigned delta = decode_native_signed(section_, at);
    const std::int64_t entry = static_cast<std::int64_t>(at) + delta.value;
    if (entry < 0 || static_cast<std::uint64_t>(entry) >= section_.size())
      throw_corrupt(section_.begin() + at, "hash table entry outside its section");
    at = delta.next;
    visit(static_cast<std::uint64_t>(entry));
  }
}

} // namespace clr
