#include "core/symbols/net_trace.h"

#include "core/symbols/net_trace_decoder.h"

#include <charconv>
#include <chrono>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::string_view trace_magic = "Nettrace", serialization = "!FastSerialization.1";
constexpr std::uint32_t newest_object_version = 5, newest_version = 6;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A date in the form of Windows, eight 16-bit numbers: year, month, day of week, day, hour, minute, second,
// millisecond.
std::optional<std::int64_t> take_date(TraceBytes& bytes) {
  std::uint16_t field[8];
  for (std::uint16_t& value : field) value = bytes.u16();
  const std::chrono::year_month_day date{std::chrono::year(field[0]), std::chrono::month(field[1]),
                                         std::chrono::day(field[3])};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + field[4]) * 60 + field[5]) * 60 + field[6]) * 1000 + field[7];
}

std::optional<std::uint64_t> number_of(const std::map<std::string, std::string>& properties,
                                       const char* key) {
  const auto found = properties.find(key);
  if (found == properties.end()) return std::nullopt;
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void take_clock(TraceBytes& bytes, TraceInfo& info) {
  info.start_unix_ms = take_date(bytes);
  info.start = bytes.u64();
  info.ticks_per_second = bytes.u64();
  info.pointer_size = bytes.u32();
  if (info.pointer_size != 4 && info.pointer_size != 8) bytes.fail(TraceFaultKind::pointer_size);
}

void take_trace_object(TraceBytes& bytes, TraceInfo& info) {
  take_clock(bytes, info);
  info.process_id = bytes.u32();
  info.processors = bytes.u32();
  info.sampling_rate_ns = bytes.u32();
}

void take_trace_block(TraceBytes& bytes, TraceInfo& info) {
  take_clock(bytes, info);
  const std::uint32_t count = bytes.size32();
  if (count > NetTrace::max_properties) bytes.fail(TraceFaultKind::many_properties);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string_view key = bytes.utf8_text();
    info.properties.insert_or_assign(std::string(key), std::string(bytes.utf8_text()));
  }
  info.process_id = number_of(info.properties, "ProcessId");
  info.processors = number_of(info.properties, "HardwareThreadCount");
  info.sampling_rate_ns = number_of(info.properties, "ExpectedCPUSamplingRate");
}

} // namespace

NetTrace::NetTrace(MappedFile file, std::span<const std::byte> bytes, std::string name)
    : file_(std::move(file)), bytes_(bytes), name_(std::move(name)) {
  try {
    read_header();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name_, error.what()));
  }
}

NetTrace NetTrace::open(const std::string& path) {
  MappedFile file = MappedFile::open(path);
  const auto bytes = file.bytes();
  return NetTrace(std::move(file), bytes, path);
}

NetTrace NetTrace::of_bytes(std::span<const std::byte> bytes, std::string name) {
  return NetTrace({}, bytes, std::move(name));
}

bool NetTrace::recognises(std::span<const std::byte> first) {
  return text_of(first).starts_with(trace_magic);
}

void NetTrace::read_header() {
  if (!recognises(bytes_))
    throw Error(ErrorKind::corrupt, "no nettrace file: it does not start with \"Nettrace\"");
  TraceBytes bytes(bytes_, 0);
  bytes.skip(trace_magic.size());
  const std::uint32_t size = bytes.u32();
  if (size == 0) {
    info_.version = bytes.u32();
    bytes.u32(); // the minor version promises to change nothing for old readers
    if (info_.version != newest_version)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("nettrace version {} is not supported; 4, 5 and 6 are", info_.version));
    const std::uint32_t header = bytes.u32();
    if (header >> 24 != static_cast<std::uint32_t>(TraceBlockKind::trace))
      bytes.fail(TraceFaultKind::wrong_first_block);
    TraceBytes body = bytes.part(header & 0xff'ffff);
    take_trace_block(body, info_);
    first_block_ = static_cast<std::size_t>(bytes.offset());
    return;
  }
  if (size != serialization.size() || text_of(bytes.take(size)) != serialization)
    bytes.fail(TraceFaultKind::unknown_serialization);
  const auto header = read_object_header(bytes);
  if (!header || header->name != "Trace") bytes.fail(TraceFaultKind::wrong_first_object);
  if (header->version < 4 || header->minimum_reader > newest_object_version)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("nettrace version {} is not supported; 4, 5 and 6 are", header->version));
  info_.version = std::min(header->version, newest_object_version);
  take_trace_object(bytes, info_);
  constexpr std::uint8_t end_tag = 6;
  if (bytes.u8() != end_tag) bytes.fail(TraceFaultKind::unended_object);
  first_block_ = static_cast<std::size_t>(bytes.offset());
}

TraceReport NetTrace::read(TraceVisitor& visitor) const {
  TraceReport report;
  TraceBlocks blocks(bytes_, first_block_, info_.version, report);
  TraceDecoder decoder(info_, bytes_.size(), visitor, report);
  TraceBlock block;
  while (blocks.next(block)) {
    if (!decoder.read(block)) break;
    if (!visitor.progress(blocks.offset(), bytes_.size())) {
      report.stopped = true;
      break;
    }
  }
  return report;
}

} // namespace clr
