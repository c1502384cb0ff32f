// Async methods as JSON: the form of `clr async --json`.
#pragma once

#include "core/report/json_writer.h"
#include "core/runtime/async_report.h"

namespace clr {

// A row of "stacks".
void write_json(JsonWriter& json, const AsyncStack& stack);
// The members "async_callers" and "waits_for_async" of a thread of `clrbt --async --json`.
void write_members(JsonWriter& json, const AsyncBeside& beside);
// A row of "faulted".
void write_json(JsonWriter& json, const FaultedTask& task);

} // namespace clr
