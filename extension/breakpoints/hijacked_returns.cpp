#include "extension/breakpoints/hijacked_returns.h"

#include "core/stack/threads.h"

#include <variant>

namespace clr::lldb_plugin {

// 0: the thread runs no managed code.
Address HijackedReturns::runtime_thread(Session& session, std::uint64_t os_id) {
  const Target& target = *session.runtime().target();
  if (const auto known = threads_.find(os_id); known != threads_.end()) {
    const Address at = target.field_address(known->second, "Thread", "OSId");
    if (target.read_pointer(at) == os_id) return known->second;
  }
  threads_.clear();
  for (const RuntimeThread& thread : read_threads(target).threads)
    if (thread.os_id && threads_.size() < max_known) threads_[*thread.os_id] = thread.address;
  const auto found = threads_.find(os_id);
  return found != threads_.end() ? found->second : 0;
}

std::optional<Hijack> HijackedReturns::find(Session& session, Address thread, Address first, Address end) {
  const Target& target = *session.runtime().target();
  const std::uint32_t state = target.read_u32(target.field_address(thread, "Thread", "State"));
  if ((state & thread_state::return_address_hijacked) == 0) return std::nullopt;
  ExecutionManager& code = *session.runtime().code();
  return hijack_within(target, thread, first, end, [&](Address address) {
    return std::holds_alternative<CodeBlock>(code.find(address - 1));
  });
}

void HijackedReturns::arm(Session& session, lldb::SBThread& thread) {
  cfa_ = 0;
  if (session.runtime().absence() != nullptr || session.runtime().platform().cpu != Cpu::x64) return;
  const Address known = runtime_thread(session, thread.GetThreadID());
  if (known == 0) return;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  cfa_ = frame.GetCFA();
  if (const auto hijack = find(session, known, frame.GetSP(), frame.GetSP() + max_stack)) {
    const Address led_to = session.runtime().target()->read_pointer(hijack->slot);
    if (led_to != hijack->original &&
        session.runtime().module_at(led_to) == session.runtime().runtime_module())
      function_ = led_to;
  }
  if (function_ == 0) return;
  if (place_ == 0)
    place_ = plants_->plant(function_);
  else
    plants_->enable(place_, true);
  if (place_ != 0) plants_->limit(place_, thread.GetThreadID());
}

std::optional<Address> HijackedReturns::hit(Session& session, lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  // The return has popped the slot. Those of methods that the step's one has called come here, too.
  if (function_ == 0 || frame.GetPC() != function_ || frame.GetSP() != cfa_) return std::nullopt;
  const Address known = runtime_thread(session, thread.GetThreadID());
  if (known == 0) return std::nullopt;
  const Address slot = frame.GetSP() - session.runtime().target()->pointer_size();
  const auto hijack = find(session, known, slot, slot + 1);
  return hijack ? std::optional(hijack->original) : std::nullopt;
}

void HijackedReturns::disarm() {
  cfa_ = 0;
  if (place_ != 0) plants_->enable(place_, false);
}

} // namespace clr::lldb_plugin
