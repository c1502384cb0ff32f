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

std::optional<Hijack> HijackedReturns::returned(Session& session, lldb::SBThread& thread) {
  // The function saves registers first, some of them before LLDB looks at it.
  constexpr Address saved = 0x80;
  Runtime& runtime = session.runtime();
  if (runtime.absence() != nullptr || runtime.platform().cpu != Cpu::x64) return std::nullopt;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  const LoadedModule* const module = runtime.module_at(frame.GetPC());
  if (module == nullptr || module != runtime.runtime_module()) return std::nullopt;
  const Address known = runtime_thread(session, thread.GetThreadID());
  if (known == 0) return std::nullopt;
  const Target& target = *runtime.target();
  const std::uint32_t state = target.read_u32(target.field_address(known, "Thread", "State"));
  if ((state & thread_state::return_address_hijacked) == 0) return std::nullopt;
  const Address top = frame.GetSP() - target.pointer_size(); // the return has popped the slot
  return hijack_within(target, known, top, top + saved, [&](Address address) {
    return std::holds_alternative<CodeBlock>(runtime.code()->find(address - 1));
  });
}

} // namespace clr::lldb_plugin
