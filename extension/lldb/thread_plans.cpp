#include "extension/lldb/thread_plans.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

StepsUnderWay steps_under_way(lldb::SBThread& thread) {
  return steps_in_list(run_own(thread, fmt::format("thread plan list {}", thread.GetIndexID())).output);
}

} // namespace clr::lldb_plugin
