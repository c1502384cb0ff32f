#include "core/execution/native_format.h"

#include <fmt/format.h>

#include <array>

namespace clr {
namespace {

constexpr std::uint32_t block_size = 16;

std::uint32_t byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<std::uint32_t>(bytes[i]);
}

} // namespace

template<typename T>
T NativeReader::read(std::uint32_t offset) const {
  std::array<std::byte, sizeof(T)> raw;
  memory_->read(base_ + offset, raw);
  return load<T>(raw, ByteOrder::little);
}

std::uint8_t NativeReader::read_u8(std::uint32_t offset) const {
  return read<std::uint8_t>(offset);
}
std::uint16_t NativeReader::read_u16(std::uint32_t offset) const {
  return read<std::uint16_t>(offset);
}
std::uint32_t NativeReader::read_u32(std::uint32_t offset) const {
  return read<std::uint32_t>(offset);
}

NativeReader::Unsigned NativeReader::read_unsigned(std::uint32_t offset) const {
  std::array<std::byte, 5> raw{};
  const std::size_t got = memory_->read_some(base_ + offset, raw);
  if (got == 0) throw_missing(base_ + offset);
  const std::uint32_t first = byte_at(raw, 0);
  // The count of trailing ones tells the width.
  const unsigned ones = static_cast<unsigned>(std::countr_one(first));
  if (ones > 4)
    throw_corrupt(base_ + offset, fmt::format("variable-length integer that begins with {:#x}", first));
  const std::size_t size = ones + 1;
  if (got < size) throw_missing(base_ + offset + got);
  const auto next = static_cast<std::uint32_t>(offset + size);
  if (size == 5)
    return {.value = load<std::uint32_t>(std::span(raw).subspan(1), ByteOrder::little), .next = next};
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= byte_at(raw, i) << (8 * i);
  return {.value = value >> size, .next = next};
}

NativeFormatArray::NativeFormatArray(const NativeReader& reader, std::uint32_t offset) : reader_(reader) {
  const auto header = reader_.read_unsigned(offset);
  base_ = header.next;
  count_ = header.value >> 2;
  index_width_ = header.value & 3;
}

std::optional<std::uint32_t> NativeFormatArray::find(std::uint32_t index) const {
  if (index >= count_) return std::nullopt;
  const std::uint32_t block = index / block_size;
  std::uint32_t offset = base_;
  switch (index_width_) {
  case 0:
    offset += reader_.read_u8(base_ + block);
    break;
  case 1:
    offset += reader_.read_u16(base_ + 2 * block);
    break;
  default:
    offset += reader_.read_u32(base_ + 4 * block);
    break;
  }
  for (std::uint32_t bit = block_size / 2; bit != 0; bit /= 2) {
    const auto [value, next] = reader_.read_unsigned(offset);
    if ((index & bit) != 0) {
      if ((value & 2) != 0) {
        offset += value >> 2;
        continue;
      }
    } else if ((value & 1) != 0) {
      offset = next;
      continue;
    }
    // A lone leaf stands for the one element of this subtree that there is.
    if ((value & 3) == 0 && value >> 2 == (index & (block_size - 1))) return next;
    return std::nullopt;
  }
  return offset;
}

} // namespace clr
