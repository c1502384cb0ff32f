// Locks and waits as JSON: the forms of `clr locks` and of "waits_for" in `clr threads`, with --json.
#pragma once

#include "core/report/json.h"
#include "core/runtime/lock_report.h"

namespace clr {

// An element of `clr locks --json`.
Json to_json(const LockRow& row, LockReporter& locks);
// null for a thread that runs, and for one of which nothing is known.
Json waits_for_json(const ThreadWait& wait, LockReporter& locks);

} // namespace clr
