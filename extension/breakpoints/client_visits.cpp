// What a client of the API may do at a stop, of which nobody tells: it runs no command.
#include "extension/breakpoints/code_pages.h"
#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/lldb/thread_plans.h"

#include <algorithm>
#include <chrono>

namespace clr::lldb_plugin {

void ManagedSteps::expect(lldb::SBThread& thread) {
  const std::uint32_t stop = target_.GetProcess().GetStopID();
  // A stop may be handled more than once, and a command of the plugin's steps by many.
  if (following_ || std::exchange(expected_at_, stop) == stop) return;
  disarm();
  plans_ = {.of = thread.GetThreadID(), .before = steps_under_way(thread).count};
  expected_of_ = thread.GetThreadID();
  stands_ = thread;
  follow_handlers(thread, Kind::into);
  follow_awaits(thread, false);
  go_out_of_code_without_lines(thread);
  watch_loader();
  follow_calls(thread, Kind::into);
}

void ManagedBreakpoints::expect_step() {
  if (!prepare_step()) return;
  lldb::SBThread thread = target_.GetProcess().GetSelectedThread();
  lone_run_.watch();
  steps_->expect(thread);
  if (steps_->waits_for_code()) compilations_.arm();
}

void ManagedBreakpoints::expect_breakpoints() {
  if (!is_stopped_process(target_) || !publishing_->settings().on) return;
  const std::shared_ptr<Session> session = sessions_->at_stop();
  if (session->runtime().absence() != nullptr) return;
  // A step out of a handler is lost by a stop on its way through the runtime: seen in LLDB 19.
  const RuntimeThread* const thread =
      session->stacks().thread_of(target_.GetProcess().GetSelectedThread().GetThreadID());
  if (thread != nullptr && thread->exception_tracker != 0) return;
  if (make_writable(code_heaps(*session), target_.GetProcess().GetSelectedThread())) plant_pending();
  looks_again_ = true;
  compilations_.arm();
}

// The process runs, perhaps in a step, which a look at everything may break off: only where there is a
// reason. False when nobody else wants to hear of this compilation.
bool ManagedBreakpoints::look_again() {
  looks_again_ = false;
  const std::vector<BreakpointWish> before(breakpoints_.wishes().begin(), breakpoints_.wishes().end());
  breakpoints_.collect(*publishing_);
  if (!std::ranges::equal(before, breakpoints_.wishes())) refresh();
  if (steps_->waits_for_code())
    compilations_.arm();
  else
    watch_again();
  return compilations_.armed();
}

// A client of the API has just been told of new code, and looks at frames for that, wherever the process is
// by then. A user who asks for a stop in that very second may have to ask again.
bool ManagedBreakpoints::client_looks() const {
  constexpr std::chrono::seconds looks(1);
  return std::chrono::steady_clock::now() - shown_at_ < looks;
}

} // namespace clr::lldb_plugin
