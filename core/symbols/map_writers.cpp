#include "core/symbols/map_writers.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace clr {
namespace {

constexpr std::size_t piece_size = 1u << 16; // bytes that the sink gets in one call

class Buffer {
public:
  explicit Buffer(const symbols::TextSink& sink) : sink_(sink) {}

  template<typename... Args>
  void line(std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    // A line break in a name would end the entry; and other tools print it as it is.
    while (true) {
      const std::string_view part = printable_part(name);
      text_ += part;
      name.remove_prefix(part.size());
      if (name.empty()) break;
      text_ += '?';
      name.remove_prefix(std::max<std::size_t>(utf8_length(name), 1));
    }
    text_ += '\n';
    if (text_.size() >= piece_size) flush();
  }
  void flush() {
    if (!text_.empty()) sink_(text_);
    text_.clear();
  }

private:
  const symbols::TextSink& sink_;
  std::string text_;
};

bool is_written(const symbols::MapRow& row) {
  return row.size != 0 && !row.name.empty();
}

} // namespace

std::size_t write_perf_map(const symbols::TextSink& sink, std::span<const symbols::MapRow> rows) {
  Buffer buffer(sink);
  std::size_t lines = 0;
  for (const symbols::MapRow& row : rows) {
    if (!is_written(row)) continue;
    buffer.line(row.name, "{:#x} {:x} ", row.start, row.size);
    ++lines;
  }
  buffer.flush();
  return lines;
}

std::size_t write_r2r_perf_map(const symbols::TextSink& sink, const R2rPerfMapHeader& header,
                               std::span<const symbols::MapRow> rows) {
  for (const symbols::MapRow& row : rows)
    if (is_written(row) &&
        (row.start >= first_r2r_header_token || row.size > first_r2r_header_token - row.start))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} at RVA {:#x} of {:#x} bytes does not fit into an R2R perf map", row.name,
                              row.start, row.size));
  Buffer buffer(sink);
  const auto record = [&](unsigned number, const std::string& value) {
    buffer.line(value, "{:08X} 00 ", 0xFFFF'FFFF - number);
  };
  if (header.signature) record(0, digits_of(*header.signature));
  record(1, fmt::format("{}", header.version.value_or(1)));
  if (header.os) record(2, fmt::format("{}", static_cast<std::uint32_t>(*header.os)));
  if (header.architecture) record(3, fmt::format("{}", static_cast<std::uint32_t>(*header.architecture)));
  if (header.abi) record(4, fmt::format("{}", static_cast<std::uint32_t>(*header.abi)));
  std::size_t lines = 0;
  for (const symbols::MapRow& row : rows) {
    if (!is_written(row)) continue;
    buffer.line(row.name, "{:08X} {:02X} ", row.start, row.size);
    ++lines;
  }
  buffer.flush();
  return lines;
}

} // namespace clr
