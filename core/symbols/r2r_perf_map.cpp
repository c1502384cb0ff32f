#include "core/symbols/r2r_perf_map.h"

#include "core/memory/error.h"
#include "core/symbols/map_lines.h"

#include <array>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint64_t signature_token = 0xFFFF'FFFF, version_token = 0xFFFF'FFFE, os_token = 0xFFFF'FFFD,
                        architecture_token = 0xFFFF'FFFC, abi_token = 0xFFFF'FFFB;
constexpr std::uint32_t r2r_perf_map_version = 1;

std::string token_name(std::span<const std::string_view> names, std::uint32_t value) {
  return value < names.size() ? std::string(names[value]) : fmt::format("{}", value);
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class R2rPerfMapReader {
public:
  R2rPerfMapReader(std::span<const std::byte> text, const std::string& name)
      : lines_(text), name_(name), builder_(SymbolSpace::image, fmt::format("R2R perf map {}", name)) {}

  R2rPerfMap read() {
    while (const auto line = lines_.next()) {
      record(*line);
      if (lines_.unfinished()) malformed(R2rPerfMapFault::no_line_end);
    }
    if (map_.header.signature) builder_.identify(digits_of(*map_.header.signature)); // it may come last
    map_.symbols = builder_.build();
    map_.dropped = builder_.dropped();
    return std::move(map_);
  }

private:
  void malformed(R2rPerfMapFault what) { map_.malformed.count(what, lines_.number()); }

  void record(std::string_view line) {
    const HexNumber rva = parse_hex(take_field(line), 32);
    if (rva.fault == HexFault::none && rva.value >= first_r2r_header_token) {
      take_field(line); // the length, always 0
      return header(rva.value, line);
    }
    ++map_.records;
    if (rva.fault == HexFault::not_hexadecimal) return malformed(R2rPerfMapFault::bad_address);
    if (rva.fault == HexFault::too_large) return malformed(R2rPerfMapFault::large_address);
    if (line.empty()) return malformed(R2rPerfMapFault::no_length);
    const HexNumber length = parse_hex(take_field(line), 32);
    if (length.fault == HexFault::not_hexadecimal) return malformed(R2rPerfMapFault::bad_length);
    if (length.fault == HexFault::too_large) return malformed(R2rPerfMapFault::large_length);
    if (line.empty()) return malformed(R2rPerfMapFault::no_name);
    if (length.value == 0) return malformed(R2rPerfMapFault::no_code);
    if (rva.value + length.value > std::uint64_t{1} << 32) return malformed(R2rPerfMapFault::past_end);
    builder_.add(rva.value, length.value, line);
  }

  template<typename T>
  void set(std::optional<T>& field, std::optional<T> value) {
    if (!value) return malformed(R2rPerfMapFault::bad_header);
    if (field && *field != *value) return malformed(R2rPerfMapFault::repeated_header);
    field = value;
  }

  template<typename T>
  static std::optional<T> token(std::string_view value) {
    const auto number = parse_decimal(value);
    return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
  }

  void header(std::uint64_t token_value, std::string_view value) {
    R2rPerfMapHeader& header = map_.header;
    switch (token_value) {
    case signature_token:
      return set(header.signature, parse_r2r_signature(value));
    case version_token:
      // Before the format was settled, this record held the name of the operating system.
      if (!value.empty() && is_letter(value.front()))
        refuse(fmt::format(
            "its header is that of the form before version 1 (the second record says \"{}\" where "
            "version 1 has a number)",
            value.substr(0, 32)));
      set(header.version, parse_decimal(value));
      if (header.version && *header.version != r2r_perf_map_version)
        refuse(fmt::format("version {} of the format is not known; known is {}", *header.version,
                           r2r_perf_map_version));
      return;
    case os_token:
      return set(header.os, token<PerfMapOs>(value));
    case architecture_token:
      return set(header.architecture, token<PerfMapArchitecture>(value));
    case abi_token:
      return set(header.abi, token<PerfMapAbi>(value));
    default:
      return; // a record of a later writer: later versions only append
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::unsupported_contract, fmt::format("R2R perf map {}: {}", name_, why));
  }

  MapLines lines_;
  const std::string& name_;
  R2rPerfMap map_;
  SymbolTableBuilder builder_;
};

} // namespace

std::string to_string(PerfMapOs os) {
  constexpr std::array<std::string_view, 8> names{"Unknown", "Windows", "Linux", "OSX",
                                                  "FreeBSD", "NetBSD",  "SunOS", "Haiku"};
  return token_name(names, static_cast<std::uint32_t>(os));
}

std::string to_string(PerfMapArchitecture architecture) {
  constexpr std::array<std::string_view, 7> names{"Unknown", "ARM",     "ARM64",      "X64",
                                                  "X86",     "RiscV64", "LoongArch64"};
  return token_name(names, static_cast<std::uint32_t>(architecture));
}

std::string to_string(PerfMapAbi abi) {
  constexpr std::array<std::string_view, 3> names{"Unknown", "Default", "Armel"};
  return token_name(names, static_cast<std::uint32_t>(abi));
}

R2rPerfMap read_r2r_perf_map(std::span<const std::byte> text, const std::string& name) {
  return R2rPerfMapReader(text, name).read();
}

std::string_view to_string(R2rPerfMapFault kind) {
  switch (kind) {
  case R2rPerfMapFault::bad_address:
    return "the address is not hexadecimal";
  case R2rPerfMapFault::bad_length:
    return "the length is not hexadecimal";
  case R2rPerfMapFault::large_address:
    return "the address has more than 32 bits";
  case R2rPerfMapFault::large_length:
    return "the length has more than 32 bits";
  case R2rPerfMapFault::no_length:
    return "there is no length";
  case R2rPerfMapFault::no_name:
    return "there is no name";
  case R2rPerfMapFault::no_code:
    return "the length is 0";
  case R2rPerfMapFault::past_end:
    return "the code ends past 4 GiB";
  case R2rPerfMapFault::bad_header:
    return "the value of a header record makes no sense";
  case R2rPerfMapFault::repeated_header:
    return "a header record comes twice, with two values";
  case R2rPerfMapFault::no_line_end:
    return "the last line has no end: its name may be cut";
  }
  return "";
}

} // namespace clr
