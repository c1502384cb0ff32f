// One structure of the target, fetched with a single read. Fields are taken from the copy at offsets that
// were resolved beforehand, so a record of ten fields costs one read and no string lookups.
#pragma once

#include "core/target/target.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace clr {

// The smallest range of offsets that covers the fields that a reader needs from one runtime type.
class RecordSpan {
public:
  explicit RecordSpan(std::string_view type) : type_(type) {}

  // Both find the offset of one field of `width` bytes and extend the span to it. When neither the descriptor
  // nor the supplements have the field, `require` throws Error{unsupported_contract} and `optional` returns
  // nothing.
  std::int64_t require(const Target& target, std::string_view field, std::size_t width);
  std::optional<std::int64_t> optional(const Target& target, std::string_view field, std::size_t width);

  std::int64_t begin() const { return begin_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

private:
  void cover(std::string_view field, std::int64_t offset, std::size_t width);

  std::string_view type_;
  std::int64_t begin_ = 0, end_ = 0;
  bool empty_ = true;
};

namespace target {

class Record {
public:
  // No runtime structure that is read whole is larger; a descriptor that claims more is wrong.
  static constexpr std::size_t max_size = 256;

  // Reads the fields of `span` of the structure at `base`. Throws Error{memory_missing}. Cost: 1 read.
  Record(const Target& target, Address base, const RecordSpan& span);
  // The same of bytes that were read already; `bytes` begins where `span` does, and is as long at least.
  Record(const Target& target, std::span<const std::byte> bytes, const RecordSpan& span);

  std::uint8_t u8(std::int64_t offset) const { return get<std::uint8_t>(offset); }
  std::uint16_t u16(std::int64_t offset) const { return get<std::uint16_t>(offset); }
  std::uint32_t u32(std::int64_t offset) const { return get<std::uint32_t>(offset); }
  Address pointer(std::int64_t offset) const {
    return platform_->pointer_size == 8 ? get<std::uint64_t>(offset) : get<std::uint32_t>(offset);
  }

private:
  template<typename T>
  T get(std::int64_t offset) const {
    return load<T>(std::span(bytes_).subspan(static_cast<std::size_t>(offset - begin_)),
                   platform_->byte_order);
  }

  std::array<std::byte, max_size> bytes_; // only the span's part is filled
  const Platform* platform_;
  std::int64_t begin_;
};

} // namespace target

} // namespace clr
