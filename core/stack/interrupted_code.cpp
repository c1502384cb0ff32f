#include "core/stack/interrupted_code.h"

#include "core/stack/frame_chain.h"
#include "core/stack/threads.h"

namespace clr {
namespace {

// The handler's part of a stack, from the Frame to the code that failed.
constexpr Address max_handler = Address{64} << 10;

// Faults leave a Frame behind: with an exception in flight, or on the stack that overflows are handled on.
bool may_be_interrupted(const Target& target, const RuntimeThread& thread) {
  if (thread.frame == 0) return false;
  if (thread.exception_tracker != 0 || !target.find_offset("Thread", "ExceptionTracker")) return true;
  return thread.stack_limit && thread.stack_base &&
         (thread.frame < *thread.stack_limit || thread.frame >= *thread.stack_base) &&
         thread.frame != target.platform().wrap(~Address{0}); // the end of the chain
}

} // namespace

bool InterruptedCode::on_same_stack() const {
  const std::optional<Address> sp = registers.sp();
  return sp && *sp > frame && *sp - frame < max_handler;
}

std::vector<InterruptedCode> interrupted_code(const Target& target) {
  std::vector<InterruptedCode> found;
  const FrameChain chain(target);
  std::size_t looked_at = 0;
  for (const RuntimeThread& thread : read_threads(target).threads) {
    if (!may_be_interrupted(target, thread)) continue;
    for (const ExplicitFrame& frame : chain.read(thread.frame, std::nullopt, std::nullopt).frames) {
      if (++looked_at > max_interrupted_frames) return found;
      if (frame.kind != FrameKind::faulting_exception) continue;
      if (found.size() >= max_interrupted_codes) return found;
      try {
        if (const auto context = chain.context(frame); context && context->registers.sp())
          found.push_back({.registers = context->registers, .frame = frame.address});
      } catch (const Error&) {
        // A torn record interrupts nothing.
      }
    }
  }
  return found;
}

} // namespace clr
