#include "core/memory/text_encoding.h"

#include "core/memory/memory_reader.h"

#include <fmt/format.h>

#include <iterator>

namespace clr {
namespace {

constexpr char32_t replacement = 0xfffd;

void append_code_point(std::string& out, char32_t code) {
  const auto put = [&](unsigned value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

} // namespace

void append_utf8(std::string& out, std::span<const std::byte> utf16, ByteOrder order) {
  const std::size_t units = utf16.size() / 2;
  const auto unit = [&](std::size_t i) -> char32_t {
    return load<std::uint16_t>(utf16.subspan(2 * i), order);
  };
  for (std::size_t i = 0; i < units; ++i) {
    const char32_t first = unit(i);
    if (first < 0xd800 || first > 0xdfff) {
      append_code_point(out, first);
    } else if (first < 0xdc00 && i + 1 < units && unit(i + 1) >= 0xdc00 && unit(i + 1) <= 0xdfff) {
      append_code_point(out, 0x10000 + ((first - 0xd800) << 10) + (unit(++i) - 0xdc00));
    } else {
      append_code_point(out, replacement);
    }
  }
}

std::string hex_digits(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes)
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

} // namespace clr
