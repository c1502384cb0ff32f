#include "core/symbols/r2r_perf_map_id.h"

#include "core/memory/error.h"
#include "core/memory/memory_reader.h"
#include "core/memory/path_map.h"
#include "core/symbols/map_lines.h"

#include <algorithm>
#include <fmt/format.h>
#include <md5.h>

namespace clr {
namespace {

constexpr std::uint32_t payload_magic = 0x4D52'3252; // "R2RM"
constexpr std::size_t name_offset = 24;

char ascii_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// Compares like .NET's ordinal comparison without case; for simple names beyond ASCII it compares bytes.
bool name_before(const R2rInputAssembly& a, const R2rInputAssembly& b) {
  return std::ranges::lexicographical_compare(a.name, b.name, [](char x, char y) {
    return static_cast<unsigned char>(ascii_upper(x)) < static_cast<unsigned char>(ascii_upper(y));
  });
}

} // namespace

std::string digits_of(const R2rSignature& signature) {
  std::string text;
  for (const std::byte each : signature) text += fmt::format("{:02X}", std::to_integer<unsigned>(each));
  return text;
}

std::optional<R2rSignature> parse_r2r_signature(std::string_view digits) {
  R2rSignature signature{};
  if (digits.size() != 2 * signature.size()) return std::nullopt;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const std::string_view pair = digits.substr(2 * i, 2);
    const HexNumber number = parse_hex(pair, 8);
    if (number.fault != HexFault::none) return std::nullopt;
    signature[i] = static_cast<std::byte>(number.value);
  }
  return signature;
}

R2rPerfMapId parse_r2r_perf_map_id(std::span<const std::byte> payload) {
  const auto fail = [](std::string_view why) {
    throw Error(ErrorKind::corrupt, fmt::format("the debug directory's entry for the perf map: {}", why));
  };
  if (payload.size() <= name_offset) fail(fmt::format("it has only {} bytes", payload.size()));
  if (load<std::uint32_t>(payload, ByteOrder::little) != payload_magic) fail("it does not begin with R2RM");
  R2rPerfMapId id;
  std::ranges::copy(payload.subspan(4, id.signature.size()), id.signature.begin());
  id.version = load<std::uint32_t>(payload.subspan(20), ByteOrder::little);
  const std::string_view rest =
      as_text(payload.subspan(name_offset)).substr(0, R2rPerfMapId::max_file_name + 1);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) fail("its file name has no end");
  id.file_name = file_name_of(rest.substr(0, end));
  return id;
}

R2rSignature compute_r2r_signature(std::vector<R2rInputAssembly> assemblies, std::uint32_t os,
                                   std::uint32_t architecture, std::uint32_t abi) {
  std::ranges::stable_sort(assemblies, name_before);
  MD5_CTX md5;
  MD5Init(&md5);
  const auto add = [&](std::span<const std::byte> bytes) {
    MD5Update(&md5, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  };
  for (const R2rInputAssembly& each : assemblies) add(each.mvid);
  for (const std::uint32_t value : {os, architecture, abi})
    for (unsigned i = 0; i < 4; ++i) add(std::array{static_cast<std::byte>(value >> (8 * i))});
  R2rSignature signature{};
  MD5Final(reinterpret_cast<std::uint8_t*>(signature.data()), &md5);
  return signature;
}

} // namespace clr
