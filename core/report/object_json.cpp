#include "core/report/object_json.h"

#include "core/objects/object_path.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace clr {
namespace {

// "value", and "object" of a reference. A number is a number; what is no number in JSON (NaN) is a text.
void write_value(JsonWriter& json, const InspectedValue& value) {
  json.key("value");
  switch (value.kind) {
  case InspectedValue::Kind::boolean:
    json.boolean(value.bits != 0);
    break;
  case InspectedValue::Kind::integer:
    json.raw(fmt::format("{}", static_cast<std::int64_t>(value.bits)));
    break;
  case InspectedValue::Kind::cardinal:
    json.number(value.bits);
    break;
  case InspectedValue::Kind::real:
    std::isfinite(value.real) ? json.raw(value.text) : json.text(value.text);
    break;
  case InspectedValue::Kind::character:
  case InspectedValue::Kind::text:
    json.text(value.text);
    break;
  case InspectedValue::Kind::reference:
    value.object == 0 || !value.fault.empty() ? json.null() : json.text(value.text);
    json.hex("object", value.object);
    if (!value.object_type.empty() && value.object_type != value.type)
      json.text("object_type", value.object_type);
    break;
  case InspectedValue::Kind::unknown:
    json.null();
    break;
  }
  if (!value.fault.empty()) json.text("fault", value.fault);
}

void write_fields(JsonWriter& json, const std::vector<InspectedField>& fields) {
  json.key("fields");
  json.begin_array();
  for (const InspectedField& field : fields) {
    json.begin_object();
    json.text("name", field.name);
    if (!field.property.empty()) json.text("property", field.property);
    json.text("declared_in", field.declared_in);
    json.text("type", field.value.type);
    json.number("offset", field.offset);
    write_value(json, field.value);
    if (!field.fields.empty()) write_fields(json, field.fields);
    json.end_object();
  }
  json.end_array();
}

void write_item(JsonWriter& json, const InspectedValue& value) {
  json.begin_object();
  json.text("type", value.type);
  write_value(json, value);
  json.end_object();
}

} // namespace

void write_json(JsonWriter& json, const InspectedObject& object) {
  json.begin_object();
  json.hex("address", object.address);
  json.text("type", object.type);
  json.hex("method_table", object.method_table);
  json.number("size", object.size);
  json.text("text", object.text);
  write_fields(json, object.fields);
  if (object.item_count) {
    json.number("item_count", *object.item_count);
    json.key("items");
    json.begin_array();
    for (const InspectedItem& item : object.items) {
      if (!item.key) {
        write_item(json, item.value);
        continue;
      }
      json.begin_object();
      json.key("key");
      write_item(json, *item.key);
      json.text("type", item.value.type);
      write_value(json, item.value);
      json.end_object();
    }
    json.end_array();
  }
  if (!object.fault.empty()) json.text("fault", object.fault);
  json.end_object();
}

void write_json(JsonWriter& json, const StaticRow& row) {
  json.begin_object();
  json.text("name", row.name);
  if (!row.property.empty()) json.text("property", row.property);
  json.hex("method_table", row.method_table);
  json.text("token", fmt::format("{:#x}", row.token));
  if (row.os_id) json.number("thread", *row.os_id);
  if (row.address) json.hex("address", *row.address);
  json.text("type", row.value.type);
  write_value(json, row.value);
  if (!row.fields.empty()) write_fields(json, row.fields);
  json.end_object();
}

void write_json(JsonWriter& json, const InspectedValue& value, const std::vector<InspectedField>& fields) {
  json.begin_object();
  json.text("type", value.type);
  write_value(json, value);
  if (!fields.empty()) write_fields(json, fields);
  json.end_object();
}

std::string object_json(Runtime& runtime, Address object, const std::string& path,
                        const InspectionLimits& limits) {
  ObjectReader& objects = *runtime.objects();
  std::string text;
  JsonWriter json(text);
  if (!path.empty()) {
    const ValuePlace place = follow_path(objects, object, path);
    object = place.type->is_reference() ? runtime.target()->read_pointer(place.at) : 0;
    if (object == 0) {
      write_json(json, inspect_value(objects, *place.type, place.at, limits.text),
                 inspect_structure(objects, *place.type, place.at, limits));
      return text;
    }
  }
  runtime.require_object_start(object);
  write_json(json, inspect_object(objects, object, limits));
  return text;
}

} // namespace clr
