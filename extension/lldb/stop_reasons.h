// The reasons that the threads of a stopped process give the user. Some of the breakpoints that they came to
// are the plugin's own.
#pragma once

#include "extension/lldb/thread_stop.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <set>
#include <vector>

namespace clr::lldb_plugin {

// The steps that the plugin follows.
struct StepsOfPlugin {
  bool under_way = false;
  std::set<std::uint64_t> passed; // threads with no reason to stop at a breakpoint of the plugin's for steps
  // The user's breakpoints that are gone once they are hit (LLDB 22 and 23 delete them before they tell).
  std::set<lldb::break_id_t> one_shots;
};
// One for each thread of the process of `target`, the selected one first. A thread in the middle of a step
// has no reason to stop.
std::vector<ThreadStop> thread_stops(lldb::SBTarget& target, const StepsOfPlugin& steps);

} // namespace clr::lldb_plugin
