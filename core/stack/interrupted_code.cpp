#include "core/stack/interrupted_code.h"

#include "core/stack/frame_chain.h"
#include "core/stack/threads.h"

#include <fmt/format.h>

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

InterruptedCodes interrupted_codes(const Target& target) {
  InterruptedCodes found;
  const auto problem = [&](std::string_view what, std::string_view why) {
    found.problems.push_back(fmt::format("faults of {}: {}", what, why));
  };
  try {
    const FrameChain chain(target);
    const ThreadList list = read_threads(target);
    if (!list.problem.empty()) problem("some threads", list.problem);
    std::size_t looked_at = 0;
    for (const RuntimeThread& thread : list.threads) {
      const std::string name = fmt::format("the Thread at {:#x}", thread.address);
      if (thread.frame == 0 && !thread.fault.empty()) problem(name, thread.fault);
      if (!may_be_interrupted(target, thread)) continue;
      const FrameChain::Result frames = chain.read(thread.frame, std::nullopt, std::nullopt);
      if (!frames.problem.empty()) problem(name, frames.problem);
      for (const ExplicitFrame& frame : frames.frames) {
        if (++looked_at > max_interrupted_frames || found.codes.size() >= max_interrupted_codes) {
          problem("further threads", "there are too many Frames");
          return found;
        }
        if (frame.kind != FrameKind::faulting_exception) continue;
        try {
          if (const auto context = chain.context(frame); context && context->registers.sp())
            found.codes.push_back({.registers = context->registers, .frame = frame.address});
        } catch (const Error& error) {
          problem(name, error.what());
        }
      }
    }
  } catch (const Error& error) {
    problem("threads", error.what());
  }
  return found;
}

} // namespace clr
