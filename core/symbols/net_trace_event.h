// The contents of a nettrace file: facts about the whole trace, types of events, events.
// Source: microsoft/perfview src/TraceEvent/EventPipe/NetTraceFormat_v5.md (versions 4 and 5) and
// NetTraceFormat.md (version 6); the writer of version 4: dotnet/runtime src/native/eventpipe/ep-file.c,
// ep-block.c.
#pragma once

#include "core/memory/memory_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

// A point in time of a trace, in ticks of its clock; info().ticks_per_second ticks make a second.
using TraceTime = std::uint64_t;

struct TraceInfo {
  std::uint32_t version = 0;                 // of the format: 4, 5 or 6
  std::optional<std::int64_t> start_unix_ms; // UTC; nothing when the file states no date
  TraceTime start = 0;                       // the same moment in ticks
  std::uint64_t ticks_per_second = 0;
  std::uint32_t pointer_size = 8;          // bytes: 4 or 8
  std::optional<std::uint64_t> process_id; // version 6: only when the trace is of one process
  std::optional<std::uint64_t> processors;
  std::optional<std::uint64_t> sampling_rate_ns; // as stated; no event depends on it
  std::map<std::string, std::string> properties; // version 6, the writer's own
};

// How a field of a payload is stored. The numbers are those of the format.
enum class PayloadType : std::uint8_t {
  object = 1,
  bool32 = 3,
  utf16_unit = 4,
  i8 = 5,
  u8 = 6,
  i16 = 7,
  u16 = 8,
  i32 = 9,
  u32 = 10,
  i64 = 11,
  u64 = 12,
  f32 = 13,
  f64 = 14,
  date_time = 16,
  guid = 17,
  utf16_string = 18, // ends with NUL
  array = 19,        // u16 count, elements
  var_int = 20,
  var_uint = 21,
  fixed_array = 22,
  utf8_unit = 23,
  relative_location = 24, // u32: size << 16 | offset behind this field
  data_location = 25,     // u32: size << 16 | offset from the payload's start
  bool8 = 26,
};

struct PayloadField {
  std::string name;
  PayloadType type = PayloadType::object;
  std::uint16_t count = 0;          // of a fixed array
  std::vector<PayloadField> nested; // the fields of an object; the one element type of an array or location
};

namespace symbols {

// A row of the metadata table: it describes one type of event.
struct EventType {
  std::uint32_t id = 0; // within the file
  std::string provider; // "Microsoft-Windows-DotNETRuntime"
  std::uint32_t event_id = 0, version = 0, level = 0;
  std::string name; // empty for the runtime's own events, whose payloads are known by provider and id
  std::uint64_t keywords = 0;
  std::optional<std::uint8_t> opcode;
  std::vector<PayloadField> fields; // empty for the runtime's own events
  std::string fields_fault;         // why the fields are not known

  static constexpr unsigned max_field_depth = 16;
};

} // namespace symbols

// Instruction pointers, the innermost first. Those of callers are return addresses.
class TraceStack {
public:
  TraceStack() = default;
  TraceStack(std::span<const std::byte> bytes, std::uint32_t pointer_size)
      : bytes_(bytes), pointer_size_(pointer_size) {}

  std::size_t size() const { return bytes_.size() / pointer_size_; }
  Address operator[](std::size_t i) const {
    const auto at = bytes_.subspan(i * pointer_size_);
    return pointer_size_ == 4 ? load<std::uint32_t>(at, ByteOrder::little)
                              : load<std::uint64_t>(at, ByteOrder::little);
  }

private:
  std::span<const std::byte> bytes_;
  std::uint32_t pointer_size_ = 8;
};

// Valid only while it is visited.
struct TraceEvent {
  const symbols::EventType* type = nullptr;
  std::uint32_t version = 0; // of the payload: the version of the type, or that of a label of the event
  TraceTime time = 0;
  std::uint64_t process_id = 0; // 0: the file does not say
  std::uint64_t thread_id = 0;  // the OS id; 0: the file does not say
  std::uint32_t processor = 0;
  TraceStack stack; // empty: no stack was taken, or it is lost (the report counts lost ones)
  std::span<const std::byte> payload;
  std::uint64_t file_offset = 0; // of the payload
};

} // namespace clr
