#include "core/symbols/net_trace_bytes.h"

#include "core/memory/text_encoding.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

template<typename T>
T leb128(TraceBytes& bytes) {
  constexpr unsigned width = sizeof(T) * 8;
  T value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const std::uint8_t byte = bytes.u8();
    const T part = byte & 0x7f;
    if (shift >= width || (part << shift >> shift) != part) bytes.fail(TraceFaultKind::large_integer);
    value |= static_cast<T>(part << shift);
    if ((byte & 0x80) == 0) return value;
  }
}

} // namespace

TraceFault::TraceFault(TraceFaultKind what, std::uint64_t offset)
    : Error(ErrorKind::corrupt, fmt::format("{} at file offset {:#x}", to_string(what), offset)), what_(what),
      offset_(offset) {}

std::uint32_t TraceBytes::size32() {
  const std::uint32_t size = u32();
  if (size > 0x7fff'ffff) fail(TraceFaultKind::negative_size);
  return size;
}

std::uint32_t TraceBytes::var32() {
  return leb128<std::uint32_t>(*this);
}

std::uint64_t TraceBytes::var64() {
  return leb128<std::uint64_t>(*this);
}

void TraceBytes::align(std::size_t unit) {
  const std::size_t rest = static_cast<std::size_t>(offset() % unit);
  if (rest != 0) skip(std::min(unit - rest, left()));
}

std::string TraceBytes::utf16_text() {
  std::string text;
  append_utf8(text, take_utf16(*this), ByteOrder::little);
  return text;
}

std::string_view TraceBytes::utf8_text() {
  const auto text = take(var32());
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void TraceBytes::throw_end() const {
  throw TraceFault(TraceFaultKind::early_end, base_ + bytes_.size());
}

std::span<const std::byte> take_utf16(TraceBytes& bytes) {
  TraceBytes ahead = bytes;
  std::size_t size = 0;
  while (ahead.left() >= 2) {
    if (ahead.u16() == 0) {
      const auto text = bytes.take(size);
      bytes.skip(2);
      return text;
    }
    size += 2;
  }
  bytes.fail(TraceFaultKind::endless_string);
}

} // namespace clr
