// Reads the integers and strings of a nettrace file one after the other. The format is little-endian,
// whatever the target. Private to core/symbols.
#pragma once

#include "core/memory/error.h"
#include "core/memory/memory_reader.h"
#include "core/symbols/trace_fault_kind.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace clr {

// Thrown for data of a nettrace file that contradicts itself: an Error{corrupt}.
class TraceFault : public Error {
public:
  // `offset` is the place in the file.
  TraceFault(TraceFaultKind what, std::uint64_t offset);
  TraceFaultKind kind_of_fault() const { return what_; }
  std::uint64_t offset() const { return offset_; }

private:
  TraceFaultKind what_;
  std::uint64_t offset_;
};

constexpr std::size_t trace_guid_size = 16;

class TraceBytes {
public:
  // `offset` is the place of `bytes` in the file, for messages and for alignment.
  TraceBytes(std::span<const std::byte> bytes, std::uint64_t offset) : bytes_(bytes), base_(offset) {}

  std::size_t left() const { return bytes_.size() - at_; }
  bool at_end() const { return at_ == bytes_.size(); }
  std::uint64_t offset() const { return base_ + at_; }

  // These functions throw TraceFault when there are not enough bytes.
  std::uint8_t u8() { return integer<std::uint8_t>(); }
  std::uint16_t u16() { return integer<std::uint16_t>(); }
  std::uint32_t u32() { return integer<std::uint32_t>(); }
  std::uint64_t u64() { return integer<std::uint64_t>(); }
  // A count or size that the format stores as a signed integer.
  std::uint32_t size32();

  // LEB128 numbers. A number that does not fit is a fault, and so is a number without an end.
  std::uint32_t var32();
  std::uint64_t var64();

  std::span<const std::byte> take(std::size_t size) {
    if (size > left()) throw_end();
    const auto taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
  }
  // A separate reader of the next `size` bytes.
  TraceBytes part(std::size_t size) { return {take(size), offset() - size}; }
  void skip(std::size_t size) { take(size); }
  // Skips to the next multiple of `unit` of the file offset, or to the end.
  void align(std::size_t unit);

  // UTF-16 text with a NUL at its end, converted to UTF-8. A fault when there is no NUL.
  std::string utf16_text();
  // A length in bytes (LEB128) and UTF-8 text, returned unchanged.
  std::string_view utf8_text();

  [[noreturn]] void fail(TraceFaultKind what) const { throw TraceFault(what, offset()); }

private:
  template<typename T>
  T integer() {
    if (sizeof(T) > left()) throw_end();
    const T value = load<T>(bytes_.subspan(at_), ByteOrder::little);
    at_ += sizeof(T);
    return value;
  }
  [[noreturn]] void throw_end() const;

  std::span<const std::byte> bytes_;
  std::uint64_t base_;
  std::size_t at_ = 0;
};

// The text in front of the first NUL at an even offset. Skips the NUL. Throws TraceFault when there is none.
std::span<const std::byte> take_utf16(TraceBytes& bytes);

} // namespace clr
