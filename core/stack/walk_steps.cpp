#include "core/stack/hijack.h"
#include "core/stack/native_unwinder.h"
#include "core/stack/walk_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// Words above the stack pointer in which a dispatch stub may have left the return address: resolve stubs push
// one word.
constexpr unsigned stub_slots = 2;
// Words of the frame of a method without a frame pointer in which its return address is looked for. Those
// methods are short: they push some registers and have few locals.
constexpr unsigned max_words_without_frame = 32;

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

bool StackWalker::Run::in_listed_image(Address pc) {
  if (walker_.code_ == nullptr || !walker_.managed_) return false;
  try {
    const RangeSection* const section = walker_.code_->section_at(pc);
    return section != nullptr && section->r2r_module != 0;
  } catch (const Error&) {
    return false;
  }
}

bool StackWalker::Run::keeps_frame_pointer_at(const CodeBlock& block, Address sp, Address fp) {
  const RegisterRoles& roles = context_.architecture().roles;
  const SavedRegister* const saved = walker_.managed_->layout(block, false).find(roles.fp);
  return saved != nullptr && saved->at.reg == roles.sp && sp + static_cast<Address>(saved->at.offset) == fp;
}

std::optional<Unwound> StackWalker::Run::caller_with_frame_pointer() {
  const Architecture& architecture = context_.architecture();
  const Address sp = context_.sp().value_or(0), fp = context_.fp().value_or(0);
  if (!architecture.returns_by_stack()) return std::nullopt;
  const unsigned word = walker_.target_->pointer_size();
  for (Address at = sp; at < sp + max_words_without_frame * word && at + word <= fp; at += word) try {
      const Address return_address = walker_.target_->read_pointer(at);
      const Place place = classify(return_address, false);
      if (!place.code || !keeps_frame_pointer_at(*place.code, at + word, fp)) continue;
      Unwound unwound{.caller = RegisterContext(context_.cpu()),
                      .cfa = at + word,
                      .return_address_at = at,
                      .found_by = FoundBy::frame_pointer};
      unwound.caller.set_pc(return_address);
      unwound.caller.set_sp(at + word);
      unwound.caller.set_fp(fp);
      return unwound;
    } catch (const Error&) {
      // This word is no return address that could be proved.
    }
  return std::nullopt;
}

std::optional<Unwound> StackWalker::Run::step_unread() {
  if (leaf_ || !in_listed_image(*context_.pc())) return std::nullopt;
  if (auto caller = caller_with_frame_pointer()) return caller;
  std::optional<Unwound> recorded = step_explicit_frame();
  try {
    Unwound guess = walker_.native_->by_frame_pointer(context_);
    const Address to = guess.caller.pc().value_or(0);
    if (guess.outermost || (recorded && recorded->cfa <= guess.cfa)) return recorded;
    const bool returns =
        in_listed_image(to) || (walker_.native_->follows_call(to).value_or(false) &&
                                (is_managed(to) || walker_.native_->module_at(to) != nullptr));
    if (returns) return guess;
  } catch (const Error& error) {
    why_ = error.what();
  }
  return recorded;
}

std::optional<Unwound> StackWalker::Run::step_last_resort() {
  try {
    return walker_.native_->unwind(context_, leaf_);
  } catch (const Error& error) {
    if (why_.empty()) why_ = error.what();
  }
  // A return address into an image that the target lacks cannot be told by the call before it.
  try {
    Unwound guess = walker_.native_->by_frame_pointer(context_);
    if (!guess.outermost && in_listed_image(guess.caller.pc().value_or(0))) return guess;
  } catch (const Error&) {
    // It leads nowhere.
  }
  return std::nullopt;
}

bool StackWalker::Run::goes_on(std::size_t index) {
  if (leads_[index].goes_on) return *leads_[index].goes_on;
  const Lead lead = lead_of(index);
  const Place place = classify(lead.pc, lead.leaf);
  const bool unread = !place.fault.empty() && in_listed_image(lead.pc);
  if (!place.fault.empty() && !unread && takes_notes())
    note(fmt::format("{} at {:#x} leads to {:#x}, and frames may be missing: {}",
                     to_string(frames_[index].kind), frames_[index].address, lead.pc, place.fault));
  const bool known = place.code.has_value() || unread;
  leads_[index].goes_on = known;
  return known;
}

std::optional<Unwound> StackWalker::Run::step_explicit_frame() {
  if (!walker_.chain_) return std::nullopt;
  const Address sp = context_.sp().value_or(0);
  if (sp < led_sp_) led_ = 0;
  led_sp_ = sp;
  for (led_ = std::max(led_, next_frame_); led_ < frames_.size() && may_look(); ++led_) {
    if (lead_of(led_).sp <= sp || !goes_on(led_)) continue;
    const std::optional<FrameContext> restored = context_of(frames_[led_]);
    if (!restored) continue;
    return Unwound{.caller = restored->registers,
                   .cfa = *restored->registers.sp(),
                   .found_by = FoundBy::runtime_frame,
                   .interrupted = restored->leaf};
  }
  return std::nullopt;
}

} // namespace clr
