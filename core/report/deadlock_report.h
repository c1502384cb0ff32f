// Deadlocks as JSON and as a graph: the forms of `clr deadlocks` with --json and --dot.
#pragma once

#include "core/report/json.h"
#include "core/runtime/lock_report.h"

#include <string>

namespace clr {

// An element of `clr deadlocks --json`.
Json to_json(const Deadlock& deadlock, LockReporter& locks);
// All waits as a graph in DOT, for Graphviz; what is deadlocked is red.
std::string wait_graph_dot(LockReporter& locks);

} // namespace clr
