#include "core/stack/hijack.h"
#include "core/stack/native_unwinder.h"
#include "core/stack/walk_run.h"

#include <fmt/format.h>

namespace clr {
namespace {

// Words above the stack pointer in which a dispatch stub may have left the return address: resolve stubs push
// one word.
constexpr unsigned stub_slots = 2;

} // namespace

void StackWalker::Run::undo_hijack(Unwound& unwound) {
  if (thread_ == nullptr || walker_.target_ == nullptr || !unwound.return_address_at) return;
  if (!is_hijacked(*thread_)) return;
  const std::optional<Address> pc = unwound.caller.pc();
  if (!pc || is_managed(*pc)) return;
  const auto original = hijacked_return_address(*walker_.target_, *thread_, *unwound.return_address_at,
                                                [this](Address address) { return is_managed(address); });
  if (original) unwound.caller.set_pc(*original);
}

std::optional<Unwound> StackWalker::Run::step_managed(StackFrame& frame) {
  try {
    Unwound unwound = walker_.managed_->unwind(*frame.code, context_, leaf_);
    undo_hijack(unwound);
    return unwound;
  } catch (const Error& error) {
    why_ = error.what();
    frame.fault = why_;
    return std::nullopt;
  }
}

std::optional<Unwound> StackWalker::Run::step_stub() {
  // Precodes and dispatch stubs run without a frame of their own.
  const Architecture& architecture = context_.architecture();
  const std::optional<Address> sp = context_.sp();
  if (!sp) return std::nullopt;
  Unwound unwound{.caller = context_, .found_by = FoundBy::stub};
  if (!architecture.returns_by_stack()) {
    const auto link = context_.find(architecture.roles.return_address);
    if (!link) return std::nullopt;
    unwound.caller.set_pc(strip_return_address(context_.cpu(), *link));
    unwound.cfa = *sp;
    return unwound;
  }
  const unsigned word = walker_.target_->pointer_size();
  for (unsigned slot = 0; slot < stub_slots; ++slot) {
    try {
      const Address at = *sp + slot * word;
      const Address return_address = walker_.target_->read_pointer(at);
      const Place place = classify(return_address, false);
      // An address that cannot be looked up may be the caller: the next word is then no better guess.
      if (!place.fault.empty()) {
        why_ = place.fault;
        return std::nullopt;
      }
      if (!place.code && walker_.native_->module_at(return_address) == nullptr) continue;
      unwound.caller.set_pc(return_address);
      unwound.caller.set_sp(at + word);
      unwound.cfa = at + word;
      unwound.return_address_at = at;
      return unwound;
    } catch (const Error& error) {
      why_ = error.what();
    }
  }
  return std::nullopt;
}

std::optional<Unwound> StackWalker::Run::step_native() {
  try {
    std::optional<Unwound> unwound = walker_.native_->by_code(context_, leaf_);
    if (!unwound) why_ = fmt::format("no unwind information for {:#x}", *context_.pc());
    return unwound;
  } catch (const Error& error) {
    why_ = error.what();
    return std::nullopt;
  }
}

std::optional<Unwound> StackWalker::Run::step_unlisted() {
  if (!leaf_ || walker_.native_->module_at(*context_.pc()) != nullptr) return std::nullopt;
  try {
    Unwound unwound = walker_.native_->frameless(context_);
    const Address to = unwound.caller.pc().value_or(0);
    const bool returns = walker_.native_->follows_call(to).value_or(false) &&
                         (is_managed(to) || walker_.native_->module_at(to) != nullptr);
    return returns ? std::optional(unwound) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt; // memory that is missing tells nothing
  }
}

std::optional<Unwound> StackWalker::Run::leave_hijack_stub(const std::optional<Unwound>& next) {
  if (!passed_context_ || passed_context_->block == 0) return std::nullopt;
  // The functions that the stub called end before the registers that it pushed.
  if (next && next->cfa <= passed_context_->block) return std::nullopt;
  const RegisterContext& restored = passed_context_->registers;
  const Address sp = context_.sp().value_or(0);
  if (passed_context_->block < sp || restored.sp().value_or(0) <= sp || !is_managed(*restored.pc()))
    return std::nullopt;
  return Unwound{.caller = restored,
                 .cfa = *restored.sp(),
                 .found_by = FoundBy::runtime_frame,
                 .interrupted = passed_context_->leaf};
}

std::optional<Unwound> StackWalker::Run::step_last_resort() {
  try {
    return walker_.native_->unwind(context_, leaf_);
  } catch (const Error& error) {
    if (why_.empty()) why_ = error.what();
    return std::nullopt;
  }
}

std::optional<Unwound> StackWalker::Run::step_explicit_frame() {
  if (!walker_.chain_) return std::nullopt;
  const Address sp = context_.sp().value_or(0);
  for (std::size_t i = next_frame_; i < frames_.size(); ++i) {
    const std::optional<FrameContext> restored = context_of(frames_[i]);
    if (!restored || restored->registers.sp().value_or(0) <= sp) continue;
    const Place place = classify(*restored->registers.pc(), restored->leaf);
    if (!place.fault.empty())
      note(fmt::format("{} at {:#x} leads to {:#x}, and frames may be missing: {}",
                       to_string(frames_[i].kind), frames_[i].address, *restored->registers.pc(),
                       place.fault));
    if (!place.code) continue;
    return Unwound{.caller = restored->registers,
                   .cfa = *restored->registers.sp(),
                   .found_by = FoundBy::runtime_frame,
                   .interrupted = restored->leaf};
  }
  return std::nullopt;
}

} // namespace clr
