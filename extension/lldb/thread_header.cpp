#include "extension/lldb/thread_header.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr::lldb_plugin {

namespace {
// "signal SIGABRT"; empty for a thread that has no reason to stop.
std::string stop_description(lldb::SBThread& thread) {
  const lldb::StopReason reason = thread.GetStopReason();
  if (reason == lldb::eStopReasonInvalid || reason == lldb::eStopReasonNone) return {};
  std::string text(512, '\0');
  thread.GetStopDescription(text.data(), text.size());
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}
} // namespace

std::string thread_header(lldb::SBThread& thread) {
  // Of values: LLDB's description of a thread has escapes for colours in it.
  std::string text = fmt::format("thread #{}", thread.GetIndexID());
  if (const char* name = thread.GetName(); name != nullptr && *name != '\0')
    text += fmt::format(", name = '{}'", name);
  if (const std::string reason = stop_description(thread); !reason.empty())
    text += fmt::format(", stop reason = {}", reason);
  return text;
}

} // namespace clr::lldb_plugin
