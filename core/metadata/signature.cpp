#include "core/metadata/signature.h"

#include "core/metadata/tables.h"

#include <array>

namespace clr {

BlobBytes::BlobBytes(const ByteRange& blob) {
  if (blob.size() > max_size) throw_corrupt(blob.begin(), "signature too long");
  span_ = blob.lent();
  if (span_.empty() && blob.size() != 0) {
    const auto size = static_cast<std::size_t>(blob.size());
    std::span<std::byte> copy(few_);
    if (size > few_.size()) {
      many_.resize(size);
      copy = many_;
    }
    blob.read(0, copy.first(size));
    span_ = copy.first(size);
  }
}

void SignatureReader::fail(std::string_view what) const {
  throw_corrupt(origin_ + position_, what);
}

std::uint8_t SignatureReader::peek() const {
  if (at_end()) fail("signature ends too early");
  return std::to_integer<std::uint8_t>(bytes_[position_]);
}

std::uint8_t SignatureReader::u8() {
  const std::uint8_t value = peek();
  ++position_;
  return value;
}

std::uint32_t SignatureReader::compressed_unsigned() {
  const std::uint32_t first = u8();
  if ((first & 0x80) == 0) return first;
  if ((first & 0xc0) == 0x80) return (first & 0x3f) << 8 | u8();
  if ((first & 0xe0) != 0xc0) fail("impossible compressed integer");
  std::uint32_t value = first & 0x1f;
  for (unsigned i = 0; i < 3; ++i) value = value << 8 | u8();
  return value;
}

std::int32_t SignatureReader::compressed_signed() {
  // The sign was rotated into the lowest bit; which bits it extends to depends on the encoded width.
  const std::size_t start = position_;
  const std::uint32_t value = compressed_unsigned();
  const std::size_t width = position_ - start;
  const std::int32_t magnitude = static_cast<std::int32_t>(value >> 1);
  if ((value & 1) == 0) return magnitude;
  const std::int32_t range = width == 1 ? 1 << 6 : width == 2 ? 1 << 13 : 1 << 28;
  return magnitude - range;
}

std::uint32_t SignatureReader::type_token() {
  return decode_coded_index(CodedIndex::type_def_or_ref, compressed_unsigned());
}

std::uint64_t SignatureReader::pointer(unsigned size, ByteOrder order) {
  if (remaining() < size) fail("signature ends too early");
  const std::span<const std::byte> at = bytes_.subspan(position_);
  position_ += size;
  return size == 4 ? load<std::uint32_t>(at, order) : load<std::uint64_t>(at, order);
}

} // namespace clr
