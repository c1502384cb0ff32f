// Deadlocks for people, as JSON and as a graph: the forms of `clr deadlocks`.
#pragma once

#include "core/report/json.h"
#include "core/runtime/lock_report.h"

#include <string>
#include <vector>

namespace clr {

// The deadlock for people: a first line that says which it is, then two lines for each member and one for
// those behind them, as `clr deadlocks` prints them.
std::vector<std::string> deadlock_lines(const Deadlock& deadlock, LockReporter& locks);
// An element of `clr deadlocks --json`.
Json to_json(const Deadlock& deadlock, LockReporter& locks);
// All waits as a graph in DOT, for Graphviz; what is deadlocked is red.
std::string wait_graph_dot(LockReporter& locks);

} // namespace clr
