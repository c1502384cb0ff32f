#include "core/symbols/perf_map.h"

#include "core/memory/text_encoding.h"
#include "core/memory/utf8.h"
#include "core/symbols/map_lines.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace clr {
namespace {

constexpr std::string_view ellipsis = "\xe2\x80\xa6";
constexpr std::array<std::string_view, 10> tiers{"MinOptJitted",
                                                 "Optimized",
                                                 "QuickJitted",
                                                 "OptimizedTier1",
                                                 "OptimizedTier1OSR",
                                                 "InstrumentedTier",
                                                 "InstrumentedTierOptimized",
                                                 "PreJIT",
                                                 "PreJit-cold",
                                                 "Unknown"};

// A line that begins in the middle of another one: 0x, an address with this number of digits, a size.
constexpr std::size_t least_glued_digits = 8, most_glued_digits = 16, most_size_digits = 8;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::size_t count_hex(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_hex(text[end])) ++end;
  return end - at;
}

// Finds where another line begins within this one, behind its start. Names contain "0x" too (/* MT: 0x7f...
// */), but without a size behind it.
std::size_t find_glued(std::string_view line) {
  for (std::size_t at = line.find("0x", 1); at != std::string_view::npos; at = line.find("0x", at + 1)) {
    const std::size_t digits = count_hex(line, at + 2);
    if (digits < least_glued_digits || digits > most_glued_digits) continue;
    const std::size_t space = at + 2 + digits;
    if (space >= line.size() || line[space] != ' ') continue;
    const std::size_t size_digits = count_hex(line, space + 1);
    if (size_digits == 0 || size_digits > most_size_digits) continue;
    const std::size_t end = space + 1 + size_digits;
    if (end + 1 < line.size() && line[end] == ' ') return at;
  }
  return std::string_view::npos;
}

// How many more bytes than UTF-16 units the text has; the runtime fails to write that number of bytes. 0 for
// text that is not UTF-8.
std::size_t extra_bytes(std::string_view text) {
  std::size_t extra = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0x80 && lead < 0xC2) return 0;
    extra += length == 4 ? 2 : length - 1;
    i += length;
  }
  return extra;
}

// Repairs a name that lost its end: complete again when only a known tier was cut, else with an ellipsis.
std::string mended(std::string_view name) {
  const std::size_t lost = extra_bytes(name), open = name.rfind('[');
  if (lost != 0 && open != std::string_view::npos) {
    const std::string_view start = name.substr(open + 1);
    for (const std::string_view tier : tiers)
      // The end of the line is lost too.
      if (tier.starts_with(start) && tier.size() + 2 == start.size() + lost)
        return fmt::format("{}{}]", name.substr(0, open + 1), tier);
  }
  // Half a character at the end is removed.
  name = without_cut_end(name);
  return fmt::format("{}{}", name, ellipsis);
}

// UTF-16 text that begins with an ASCII character, converted to UTF-8; nothing when it does not begin so.
std::optional<std::string> from_utf16(std::string_view bytes) {
  if (bytes.size() < 2 || bytes[0] == '\0' || bytes[1] != '\0') return std::nullopt;
  std::string text;
  append_utf8(text, std::as_bytes(std::span(bytes)), ByteOrder::little);
  return text;
}

bool beyond_ascii(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

class PerfMapReader {
public:
  PerfMapReader(std::span<const std::byte> text, const std::string& name, const std::string& process)
      : lines_(text), builder_(SymbolSpace::process, fmt::format("perf map {}", name), process) {}

  PerfMap read() {
    while (const auto line = lines_.next()) {
      ++map_.lines;
      split(*line);
      if (lines_.unfinished()) malformed(PerfMap::no_line_end);
    }
    map_.symbols = builder_.build();
    map_.dropped = builder_.dropped();
    return std::move(map_);
  }

private:
  void malformed(PerfMapFault what) { map_.malformed.count(what, lines_.number()); }

  // Takes a line apart from the lines that are glued to it.
  void split(std::string_view line) {
    for (std::size_t end; (end = find_glued(line)) != std::string_view::npos;) {
      // .NET 8 sometimes ends a line with a NUL; nothing of the line is lost.
      if (line[end - 1] == '\0' && line.find('\0') == end - 1) {
        entry(line.substr(0, end - 1), false);
        malformed(PerfMap::nul_line_end);
      } else {
        cut(line.substr(0, end));
        malformed(PerfMap::glued);
      }
      line.remove_prefix(end);
    }
    if (line.find('\0') != std::string_view::npos && from_utf16(line))
      cut(line);
    else
      entry(line, false);
  }

  // Reads a line whose end is lost.
  void cut(std::string_view line) {
    if (const auto text = from_utf16(line))
      entry(*text, true);
    else
      entry(line, true);
  }

  void entry(std::string_view line, bool is_cut) {
    const std::string_view whole = line;
    const HexNumber address = parse_hex(take_field(line), 64);
    if (address.fault != HexFault::none) {
      if (is_cut || beyond_ascii(whole)) return malformed(PerfMap::lost_start);
      return malformed(address.fault == HexFault::too_large ? PerfMap::large_address : PerfMap::bad_address);
    }
    if (line.empty()) return malformed(PerfMap::no_size);
    const HexNumber size = parse_hex(take_field(line), 64);
    if (size.fault == HexFault::not_hexadecimal) return malformed(PerfMap::bad_size);
    if (size.fault == HexFault::too_large || size.value > SymbolTableBuilder::max_size)
      return malformed(PerfMap::large_size);
    if (line.empty()) return malformed(PerfMap::no_name);
    if (size.value == 0) return malformed(PerfMap::no_code);
    if (size.value > std::numeric_limits<std::uint64_t>::max() - address.value)
      return malformed(PerfMap::past_end);
    if (!is_cut) {
      builder_.add(address.value, size.value, line);
      return;
    }
    const std::string name = mended(line);
    if (name.ends_with(ellipsis)) malformed(PerfMap::cut_name);
    builder_.add(address.value, size.value, name);
  }

  MapLines lines_;
  SymbolTableBuilder builder_;
  PerfMap map_;
};

} // namespace

PerfMap read_perf_map(std::span<const std::byte> text, const std::string& name, const std::string& process) {
  return PerfMapReader(text, name, process).read();
}

PerfMapName parse_perf_map_name(std::string_view name) {
  // .NET 10 writes "stub TYPE<OWNER>"; older versions write "stub<N> TYPE<OWNER>".
  constexpr std::string_view stub = "stub";
  if (name.starts_with(stub)) {
    std::string_view rest = name.substr(stub.size());
    if (rest.starts_with('<')) rest.remove_prefix(std::min(rest.find('>'), rest.size() - 1) + 1);
    if (rest.starts_with(' ') && rest.ends_with('>')) return {rest.substr(1), {}, true};
  }
  if (!name.ends_with(']')) return {name, {}, false};
  const std::size_t open = name.rfind('[');
  if (open == std::string_view::npos) return {name, {}, false};
  const std::string_view tier = name.substr(open + 1, name.size() - open - 2);
  // The name "Int32[]" ends with brackets too.
  if (std::ranges::find(tiers, tier) == tiers.end()) return {name, {}, false};
  return {name.substr(0, open), tier, false};
}

std::string process_of_file_name(std::string_view path) {
  std::string_view file = path.substr(path.find_last_of('/') + 1);
  const auto strip = [&](std::string_view prefix, std::string_view suffix) {
    if (!file.starts_with(prefix) || !file.ends_with(suffix) || file.size() <= prefix.size() + suffix.size())
      return false;
    file = file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
    return parse_decimal(file).has_value();
  };
  return strip("perf-", ".map") || strip("jit-", ".dump") ? std::string(file) : std::string();
}

std::string_view to_string(PerfMapFault kind) {
  switch (kind) {
  case PerfMapFault::bad_address:
    return "the address is not hexadecimal";
  case PerfMapFault::bad_size:
    return "the size is not hexadecimal";
  case PerfMapFault::large_address:
    return "the address has more than 64 bits";
  case PerfMapFault::large_size:
    return "the size is larger than any code";
  case PerfMapFault::no_size:
    return "there is no size";
  case PerfMapFault::no_name:
    return "there is no name";
  case PerfMapFault::no_code:
    return "the size is 0";
  case PerfMapFault::past_end:
    return "the code ends past all addresses";
  case PerfMapFault::lost_start:
    return "address and size are lost, overwritten by the runtime that wrote "
           "a name beyond ASCII";
  case PerfMapFault::cut_name:
    return "the end of a name beyond ASCII is lost; the entry is used, its "
           "name ends in an ellipsis";
  case PerfMapFault::glued:
    return "the line hangs on one before it that was cut; it is used";
  case PerfMapFault::nul_line_end:
    return "a NUL stands where the line should end; it and the next are used";
  case PerfMapFault::no_line_end:
    return "the last line has no end: its name may be cut";
  }
  return "";
}

} // namespace clr
