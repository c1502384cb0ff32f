#include "extension/process/debugged_process.h"

#include "core/memory/error.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/published_module.h"
#include "extension/process/async_frames.h"
#include "extension/process/first_stop.h"
#include "extension/process/visits.h"

namespace clr::lldb_plugin {

DebuggedProcess::DebuggedProcess(const lldb::SBTarget& target, std::uint32_t number,
                                 const WorkspaceSettings& settings, DebuggedProcess* before)
    : target_(target), sessions_(target, settings.session),
      publishing_(target, number, sessions_, settings.publish),
      breakpoints_(target, sessions_, publishing_, own_entries(),
                   before != nullptr ? &before->breakpoints_ : nullptr),
      values_(target, sessions_), types_(target, sessions_) {
  if (before == nullptr) hide_copies(target_);
  breakpoints_.describe_types_with([this](std::string_view expression) { describe_types(expression); });
}

void DebuggedProcess::describe_types(std::string_view expression) {
  try {
    types_.before_expression(expression);
  } catch (const Error&) {
    // LLDB's own error names what it does not find.
  }
}

void DebuggedProcess::tell_what_is_missing() {
  if (told_what_is_missing_ || !publishing_.settings().on || !is_stopped_process(target_)) return;
  try {
    lldb::SBThread thread = target_.GetProcess().GetSelectedThread();
    const FirstStop stop = look_at_first_stop(*sessions_.at_stop(), thread);
    told_what_is_missing_ = stop.seen;
    if (!stop.text.empty()) notice(target_.GetDebugger(), stop.text);
  } catch (const Error&) {
    // The next stop may tell.
  }
}

std::vector<Address> DebuggedProcess::known_places_of_stop() {
  if (!is_stopped_process(target_) || !publishing_.settings().on ||
      breakpoints_.steps().for_stops().under_way)
    return {};
  lldb::SBProcess process = target_.GetProcess();
  std::vector<Address> places;
  try {
    for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
      lldb::SBThread thread = process.GetThreadAtIndex(i);
      const lldb::StopReason reason = thread.GetStopReason();
      if (reason == lldb::eStopReasonInvalid || reason == lldb::eStopReasonNone) continue;
      lldb::SBFrame frame = thread.GetFrameAtIndex(0);
      lldb::SBModule module = frame.GetModule();
      // LLDB drops all modules of a target when its search paths change.
      if (reason != lldb::eStopReasonBreakpoint || !publishing_.holds(frame.GetPC()) || !module.IsValid() ||
          !is_published(module) || !stands_in_users_code(*sessions_.at_stop(), frame))
        return {};
      places.push_back(frame.GetPC());
    }
  } catch (const Error&) {
    return {}; // who publishes the stacks tells what is wrong
  }
  return places;
}

void DebuggedProcess::show_async_frames(lldb::SBDebugger& debugger, unsigned switched_on) {
  const std::uint32_t stop = target_.GetProcess().GetStopID();
  if (async_frames_ == switched_on && async_frames_stop_ == stop) return;
  try {
    const std::shared_ptr<Session> session = sessions_.at_stop();
    add_frames(debugger, target_, async_frames(*session));
    async_frames_ = switched_on;
    async_frames_stop_ = stop;
  } catch (const Error&) {
    // It runs, or there is no runtime, or no heap: `clrbt --async` says it.
  }
}

void DebuggedProcess::retire() {
  if (target_.IsValid()) {
    publishing_.withdraw();
    breakpoints_.retire();
    types_.withdraw();
  }
  values_.forget();
  sessions_.drop();
}

} // namespace clr::lldb_plugin
