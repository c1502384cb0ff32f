#include "extension/breakpoints/managed_faults.h"

#include "core/isa/registers.h"
#include "extension/lldb/signal_info.h"

#include <array>
#include <csignal>

namespace clr::lldb_plugin {

namespace {
// Faults below are those of a null reference; the JIT checks before it goes further from one.
constexpr Address null_area = 4096;

// Managed code, or what it enters without a frame of its own: stubs, and the copies of write barriers.
bool is_managed(Session& session, Address pc) {
  const runtime::Answer answer = session.runtime().resolve(pc);
  if (std::holds_alternative<MethodAnswer>(answer.result)) return true;
  const auto* miss = std::get_if<MissAnswer>(&answer.result);
  if (miss == nullptr) return false;
  switch (miss->reason) {
  case MissReason::stub:
  case MissReason::precode:
  case MissReason::thunk:
  case MissReason::helper:
    return true;
  default:
    return false;
  }
}

// A helper without a frame was called by the code at the top of the stack, or by that in the link register.
std::optional<Address> caller_of_leaf(Session& session, lldb::SBFrame& frame) {
  const Architecture& architecture = architecture_of(session.runtime().platform().cpu);
  if (!architecture.returns_by_stack()) {
    const std::string name(register_name(architecture.cpu, architecture.roles.return_address));
    lldb::SBValue link = frame.FindRegister(name.c_str());
    if (!link.IsValid()) return std::nullopt;
    return link.GetValueAsUnsigned(0);
  }
  std::array<std::byte, 8> raw{};
  if (session.memory().read_some(frame.GetSP(), raw) != raw.size()) return std::nullopt;
  return load<std::uint64_t>(raw, session.runtime().platform().byte_order);
}

bool in_runtime(Session& session, Address pc) {
  const LoadedModule* module = session.runtime().module_at(pc);
  return module != nullptr && module == session.runtime().runtime_module();
}
} // namespace

std::optional<std::string> exception_of_signal(Session& session, lldb::SBThread& thread) {
  if (thread.GetStopReason() != lldb::eStopReasonSignal || thread.GetStopReasonDataCount() == 0)
    return std::nullopt;
  const auto number = static_cast<int>(thread.GetStopReasonDataAtIndex(0));
  if (number != SIGSEGV && number != SIGFPE) return std::nullopt;
  if (session.runtime().absence() != nullptr) return std::nullopt;
  if (number == SIGSEGV) {
    const auto address = fault_address(thread);
    if (!address || *address >= null_area) return std::nullopt;
  }
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  const Address pc = frame.GetPC();
  bool managed = is_managed(session, pc);
  if (!managed && number == SIGSEGV && in_runtime(session, pc))
    if (const auto caller = caller_of_leaf(session, frame)) managed = is_managed(session, *caller);
  if (!managed) return std::nullopt;
  return number == SIGSEGV ? "System.NullReferenceException" : "System.DivideByZeroException";
}

} // namespace clr::lldb_plugin
