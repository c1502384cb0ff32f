// Objects and static fields as JSON: the forms of `clr object --json` and `clr static --json`.
#pragma once

#include "core/objects/inspected_object.h"
#include "core/objects/static_fields.h"
#include "core/report/json_writer.h"
#include "core/runtime/runtime.h"

#include <string>
#include <vector>

namespace clr {

void write_json(JsonWriter& json, const InspectedObject& object);
void write_json(JsonWriter& json, const StaticRow& row);
// A field or element that is no object: {"type", "value", "fields"}.
void write_json(JsonWriter& json, const InspectedValue& value, const std::vector<InspectedField>& fields);

// The row of `clr object --json`: of the object at `object`, or of what `path` leads to from there; see
// follow_path. Throws as inspect_object and follow_path do.
std::string object_json(Runtime& runtime, Address object, const std::string& path,
                        const InspectionLimits& limits);

} // namespace clr
