#include "core/symbols/net_trace_metadata.h"

namespace clr {
namespace {

// Descriptions of fields. `depth` counts types within types.
PayloadType type_of(std::uint32_t code, const TraceBytes& bytes) {
  const auto last = static_cast<std::uint32_t>(PayloadType::bool8);
  if (code == 0 || code == 2 || code == 15 || code > last) bytes.fail(TraceFaultKind::unknown_field_type);
  return static_cast<PayloadType>(code);
}

bool has_element(PayloadType type) {
  return type == PayloadType::array || type == PayloadType::fixed_array ||
         type == PayloadType::relative_location || type == PayloadType::data_location;
}

void check_depth(unsigned depth, const TraceBytes& bytes) {
  if (depth > symbols::EventType::max_field_depth) bytes.fail(TraceFaultKind::deep_fields);
}

PayloadField& add_field(std::vector<PayloadField>& fields, std::size_t& fields_left,
                        const TraceBytes& bytes) {
  if (fields_left == 0) bytes.fail(TraceFaultKind::many_fields);
  --fields_left;
  return fields.emplace_back();
}

// Versions 4 and 5, first form: count, then { type, fields of an object, name }.
std::vector<PayloadField> take_fields_v1(TraceBytes& bytes, std::size_t& fields_left, unsigned depth) {
  check_depth(depth, bytes);
  std::vector<PayloadField> fields;
  for (std::uint32_t left = bytes.size32(); left != 0; --left) {
    PayloadField& field = add_field(fields, fields_left, bytes);
    field.type = type_of(bytes.u32(), bytes);
    if (field.type == PayloadType::object) field.nested = take_fields_v1(bytes, fields_left, depth + 1);
    field.name = bytes.utf16_text();
  }
  return fields;
}

// Version 5, second form: count, then { size, name, type, element type of an array, fields of an object }.
std::vector<PayloadField> take_fields_v2(TraceBytes& bytes, std::size_t& fields_left, unsigned depth);

void take_type_v2(TraceBytes& bytes, PayloadField& field, std::size_t& fields_left, unsigned depth) {
  check_depth(depth, bytes);
  field.type = type_of(bytes.u32(), bytes);
  if (field.type == PayloadType::object) field.nested = take_fields_v2(bytes, fields_left, depth + 1);
  if (field.type == PayloadType::array)
    take_type_v2(bytes, add_field(field.nested, fields_left, bytes), fields_left, depth + 1);
}

std::vector<PayloadField> take_fields_v2(TraceBytes& bytes, std::size_t& fields_left, unsigned depth) {
  check_depth(depth, bytes);
  constexpr std::uint32_t own_size = 4; // the size counts itself
  std::vector<PayloadField> fields;
  for (std::uint32_t left = bytes.size32(); left != 0; --left) {
    const std::uint32_t size = bytes.size32();
    if (size < own_size) bytes.fail(TraceFaultKind::small_field);
    TraceBytes row = bytes.part(size - own_size);
    PayloadField& field = add_field(fields, fields_left, row);
    field.name = row.utf16_text();
    take_type_v2(row, field, fields_left, depth);
  }
  return fields;
}

// Version 6: count, then { size, name, type }.
std::vector<PayloadField> take_fields_v6(TraceBytes& bytes, std::size_t& fields_left, unsigned depth);

void take_type_v6(TraceBytes& bytes, PayloadField& field, std::size_t& fields_left, unsigned depth) {
  check_depth(depth, bytes);
  field.type = type_of(bytes.u8(), bytes);
  if (has_element(field.type))
    take_type_v6(bytes, add_field(field.nested, fields_left, bytes), fields_left, depth + 1);
  if (field.type == PayloadType::fixed_array) field.count = bytes.u16();
  if (field.type == PayloadType::object) field.nested = take_fields_v6(bytes, fields_left, depth + 1);
}

std::vector<PayloadField> take_fields_v6(TraceBytes& bytes, std::size_t& fields_left, unsigned depth) {
  check_depth(depth, bytes);
  std::vector<PayloadField> fields;
  for (std::uint16_t left = bytes.u16(); left != 0; --left) {
    TraceBytes row = bytes.part(bytes.u16());
    PayloadField& field = add_field(fields, fields_left, row);
    field.name = row.utf8_text();
    take_type_v6(row, field, fields_left, depth);
  }
  return fields;
}

void take_tags_v5(TraceBytes& bytes, symbols::EventType& type, std::size_t& fields_left) {
  constexpr std::uint8_t opcode_tag = 1, fields_tag = 2;
  while (!bytes.at_end()) {
    const std::uint32_t size = bytes.size32();
    const std::uint8_t kind = bytes.u8();
    TraceBytes tag = bytes.part(size);
    if (kind == opcode_tag) type.opcode = tag.u8();
    if (kind == fields_tag) type.fields = take_fields_v2(tag, fields_left, 0);
  }
}

void take_optional_v6(TraceBytes bytes, symbols::EventType& type) {
  while (!bytes.at_end()) {
    switch (bytes.u8()) {
    case 1:
      type.opcode = bytes.u8();
      break;
    case 3:
      type.keywords = bytes.u64();
      break;
    case 4: // message template
    case 5: // description
      bytes.utf8_text();
      break;
    case 6: // key and value
      bytes.utf8_text();
      bytes.utf8_text();
      break;
    case 7: // GUID of the provider
      bytes.skip(trace_guid_size);
      break;
    case 8:
      type.level = bytes.u8();
      break;
    case 9:
      type.version = bytes.u8();
      break;
    default:
      return; // of a later minor version: its size is unknown
    }
  }
}

} // namespace

symbols::EventType read_metadata_event(TraceBytes payload, std::size_t& fields_left) {
  symbols::EventType type;
  type.id = payload.u32();
  type.provider = payload.utf16_text();
  type.event_id = payload.u32();
  type.name = payload.utf16_text();
  type.keywords = payload.u64();
  type.version = payload.u32();
  type.level = payload.u32();
  const std::size_t had = fields_left;
  try {
    type.fields = take_fields_v1(payload, fields_left, 0);
    take_tags_v5(payload, type, fields_left);
  } catch (const TraceFault& error) {
    fields_left = had;
    type.fields.clear();
    type.fields_fault = error.what();
  }
  return type;
}

symbols::EventType read_metadata_row(TraceBytes row, std::size_t& fields_left) {
  symbols::EventType type;
  type.id = row.var32();
  type.provider = row.utf8_text();
  type.event_id = row.var32();
  type.name = row.utf8_text();
  TraceBytes fields = row;
  const std::size_t had = fields_left;
  try {
    type.fields = take_fields_v6(fields, fields_left, 0);
  } catch (const TraceFault& error) {
    fields_left = had;
    type.fields.clear();
    type.fields_fault = error.what();
  }
  // The version of the payload comes after the fields; without the version, the layout would be a guess.
  for (std::uint16_t left = row.u16(); left != 0; --left) row.skip(row.u16());
  const std::uint16_t size = row.u16();
  take_optional_v6(row.part(size), type);
  return type;
}

TraceThread read_thread_row(TraceBytes row) {
  TraceThread thread{.index = row.var64(), .process_id = {}, .thread_id = {}};
  while (!row.at_end()) {
    switch (row.u8()) {
    case 1: // name
      row.utf8_text();
      break;
    case 2:
      thread.process_id = row.var64();
      break;
    case 3:
      thread.thread_id = row.var64();
      break;
    case 4: // key and value
      row.utf8_text();
      row.utf8_text();
      break;
    default:
      return thread;
    }
  }
  return thread;
}

EventLabels take_label_list(TraceBytes& bytes) {
  constexpr std::uint8_t last = 0x80;
  EventLabels labels;
  for (;;) {
    const std::uint8_t kind = bytes.u8();
    switch (kind & ~last) {
    case 1: // activity
    case 2: // related activity
    case 3: // trace id
      bytes.skip(trace_guid_size);
      break;
    case 4: // span id
    case 8: // keywords
      bytes.u64();
      break;
    case 5: // key and text
      bytes.utf8_text();
      bytes.utf8_text();
      break;
    case 6: // key and number
      bytes.utf8_text();
      bytes.var64();
      break;
    case 7: // opcode
    case 9: // level
      bytes.u8();
      break;
    case 10:
      labels.version = bytes.u8();
      break;
    default:
      bytes.fail(TraceFaultKind::unknown_label);
    }
    if ((kind & last) != 0) return labels;
  }
}

} // namespace clr
