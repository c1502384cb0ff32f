// GC info as JSON: the form of `clr gcinfo --json`.
#pragma once

#include "core/report/json.h"
#include "core/runtime/gc_report.h"

namespace clr {

// Every safe point and range, and what is live at the address.
Json to_json(const GcReport& report);
// A mark of `clr u --gc --json`.
Json to_json(const GcMark& mark);

} // namespace clr
