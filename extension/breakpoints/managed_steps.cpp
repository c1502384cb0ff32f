#include "extension/breakpoints/managed_steps.h"

#include "core/isa/architecture.h"
#include "core/memory/error.h"
#include "extension/lldb/thread_plans.h"

#include <utility>

namespace clr::lldb_plugin {

namespace {
// Where the last frame that LLDB finds, that before `index`, returns to: a caller in code that nothing is
// known of is no frame at all. 0: not known.
Address hidden_caller(lldb::SBThread& thread, std::uint32_t index, Cpu cpu) {
  if (!architecture_of(cpu).returns_by_stack()) return 0;
  lldb::SBFrame frame = thread.GetFrameAtIndex(index - 1);
  lldb::SBProcess process = thread.GetProcess();
  const Address cfa = frame.IsValid() ? frame.GetCFA() : LLDB_INVALID_ADDRESS;
  if (cfa == LLDB_INVALID_ADDRESS || cfa == 0) return 0;
  lldb::SBError error;
  const Address found = process.ReadPointerFromMemory(cfa - process.GetAddressByteSize(), error);
  return error.Success() ? found : 0;
}
} // namespace

void ManagedSteps::follow_exceptions(lldb::SBThread thread) {
  following_ = true;
  begin(std::move(thread), false);
}

void ManagedSteps::end_following() {
  following_ = false;
  handlers_.end_step();
}

void ManagedSteps::begin(lldb::SBThread thread, bool out) {
  handlers_.disarm();
  try {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    // Funclets are told from their parents by rbp, and places of resumption by the x64 code that names them.
    if (runtime.absence() != nullptr || runtime.platform().cpu != Cpu::x64) return;
    if (handlers_.full()) {
      handlers_.forget();
      handler_frames_.forget();
    }
    const std::vector<HandlerWatch::Frame> frames = handler_frames_.of(*session, thread);
    std::vector<Address> resumes;
    if (frames.size() >= 2 && frames[0].funclet) resumes = HandlerFrames::resumes(*session, frames[0]);
    handlers_.arm(thread.GetThreadID(), frames, out, resumes);
  } catch (const Error&) {
    // The step goes as LLDB's own do.
  }
}

bool ManagedSteps::stops(lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (handlers_.hit(thread.GetThreadID(), frame.GetPC(), frame_pointer(frame))) return true;
  let_unwind(thread);
  return false;
}

// Of the code that was compiled since the step began LLDB knows nothing; where it cannot unwind through that,
// it takes the step for lost and ends it in the middle of the runtime.
void ManagedSteps::let_unwind(lldb::SBThread& thread) {
  if (!publishing_->begun() || !is_stepping(thread)) return;
  std::shared_ptr<Session> session; // made when there is a frame to look at
  Address last = 0;                 // that was published
  for (std::uint32_t i = 1; i < HandlerFrames::max_frames;) {
    // A frame that was published now has another caller than it seemed to have.
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (frame.IsValid() && publishing_->holds(frame.GetPC() - 1)) {
      ++i;
      continue;
    }
    if (!session) session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    if (runtime.absence() != nullptr) return;
    const Address returns =
        frame.IsValid() ? frame.GetPC() : hidden_caller(thread, i, runtime.platform().cpu);
    if (returns == 0) return;
    const Address call = returns - 1;
    const bool managed = std::holds_alternative<CodeBlock>(runtime.code()->find(call));
    if (managed && std::exchange(last, call) != call) {
      publishing_->add(*session, call);
      continue;
    }
    if (!frame.IsValid()) return;
    ++i;
  }
}

bool ManagedSteps::go_on() {
  lldb::SBThread selected = target_.GetProcess().GetSelectedThread();
  return handlers_.goes_on(selected.GetThreadID(), selected.GetFrameAtIndex(0).GetPC());
}

void ManagedSteps::end() {
  if (!following_) handlers_.end_step();
}

void ManagedSteps::disarm() {
  handlers_.disarm();
}

} // namespace clr::lldb_plugin
