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
// The same in one sentence without its end, as a piece of evidence: members that are tasks are counted, and
// told where no thread is one.
std::string deadlock_sentence(const Deadlock& deadlock, LockReporter& locks);
// Whether it is the verdict of `clr analyze`. A thread pool that may make workers, or whose workers wait for
// what may come from elsewhere, is starved.
bool locks_up(const Deadlock& deadlock);
// What those that lock up mean together, as a sentence without its end; one of `deadlocks` must do so.
std::string verdict_of(const std::vector<Deadlock>& deadlocks);
// An element of `clr deadlocks --json`.
Json to_json(const Deadlock& deadlock, LockReporter& locks);
// All waits as a graph in DOT, for Graphviz; what is deadlocked is red.
std::string wait_graph_dot(LockReporter& locks);

} // namespace clr
