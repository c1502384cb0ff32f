// The thread pool and the timers as JSON: the forms of `clr pool --json` and `clr timers --json`.
#pragma once

#include "core/report/json.h"
#include "core/runtime/pool_report.h"

namespace clr {

Json to_json(const PoolReport& report);
// A row of `clr timers --json`.
Json to_json(const TimerRow& row);

} // namespace clr
