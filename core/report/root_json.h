// Roots as JSON: the form of `clr roots --json`.
#pragma once

#include "core/report/json_writer.h"
#include "core/runtime/root_rows.h"

namespace clr {

void write_json(JsonWriter& json, const RootRow& row);

} // namespace clr
