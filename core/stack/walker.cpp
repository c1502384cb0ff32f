#include "core/stack/walker.h"

#include "core/isa/argument_places.h"
#include "core/stack/interpreted_methods.h"
#include "core/stack/native_unwinder.h"
#include "core/stack/walk_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clr {
namespace {

// Signal handlers interrupt one another a few levels deep at most; each may change to another stack, so the
// rule that the stack pointer grows cannot end such a walk.
constexpr unsigned max_signal_frames = 64;
// Notes of one walk; a chain of Frames that is nothing but damage would have one for each.
constexpr std::size_t max_notes = 100;

bool is_stub(const execution::Miss& miss) {
  switch (miss.reason) {
  case MissReason::stub:
  case MissReason::precode:
  case MissReason::thunk:
  case MissReason::helper:
    return true;
  default:
    return false;
  }
}

} // namespace

std::string_view to_string(StackFrameKind kind) {
  switch (kind) {
  case StackFrameKind::managed:
    return "managed";
  case StackFrameKind::native:
    return "native";
  case StackFrameKind::runtime:
    return "runtime";
  }
  return "native";
}

Address StackFrame::pc() const {
  return registers.pc().value_or(0);
}

Address StackFrame::sp() const {
  return frame ? frame->address : registers.sp().value_or(0);
}

StackWalker::StackWalker(const Target* target, ExecutionManager* code, NativeUnwinder& native)
    : target_(target), code_(code), native_(&native) {
  if (target == nullptr || code == nullptr) return;
  chain_.emplace(*target);
  if (architecture_of(target->platform().cpu).walks_stacks()) managed_.emplace(*code);
}

StackWalker::~StackWalker() = default;

std::shared_ptr<const FrameChain::Result> StackWalker::frames_from(Address head) {
  if (last_chain_ && last_head_ == head) return last_chain_;
  // The stack bounds are not given to the chain: a handler may run, and push Frames, on another stack.
  last_chain_ = std::make_shared<const FrameChain::Result>(chain_->read(head, std::nullopt, std::nullopt));
  last_head_ = head;
  return last_chain_;
}

bool StackWalker::Run::emit(const StackFrame& frame) {
  if (emitted_ >= options_.max_frames) {
    result_.end = WalkEnd::limit;
    result_.reason = fmt::format("stopped after {} frames", emitted_);
    return false;
  }
  ++emitted_;
  if (visit_(frame)) return true;
  result_.end = WalkEnd::stopped;
  return false;
}

bool StackWalker::Run::emit_frames_below(Address limit) {
  for (; next_frame_ < frames_.size() && frames_[next_frame_].address < limit; ++next_frame_) {
    const ExplicitFrame& explicit_frame = frames_[next_frame_];
    StackFrame frame{
        .kind = StackFrameKind::runtime, .found_by = FoundBy::runtime_frame, .frame = explicit_frame};
    if (explicit_frame.kind == FrameKind::unknown && takes_notes())
      note(fmt::format("a Frame of unknown kind at {:#x}: its identifier {:#x} is none that the runtime's "
                       "descriptor names, and frames may be missing",
                       explicit_frame.address, explicit_frame.identifier));
    try {
      frame.method_desc = walker_.chain_->method_desc(explicit_frame);
    } catch (const Error& error) {
      frame.fault = error.what();
    }
    if (auto saved = context_of(explicit_frame)) {
      passed_context_ = saved;
      passed_index_ = next_frame_;
    }
    if (!emit(frame)) return false;
    if (explicit_frame.kind == FrameKind::interpreter && !emit_interpreted(explicit_frame)) return false;
  }
  return true;
}

bool StackWalker::Run::emit_interpreted(const ExplicitFrame& frame) {
  const InterpretedMethods list = interpreted_methods(*walker_.target_, frame.address, interpreted_);
  for (const InterpretedMethod& method : list.methods) {
    if (first_node_ == method.node) first_node_ = 0;
    if (first_node_ != 0) continue;
    StackFrame row{.kind = StackFrameKind::managed,
                   .registers = RegisterContext(context_.cpu()),
                   .found_by = FoundBy::runtime_frame,
                   .leaf = method.faulting};
    row.registers.set_pc(method.ip);
    row.registers.set_sp(method.node);
    row.registers.set_fp(method.stack);
    Place place = classify(method.ip, method.faulting);
    if (place.code && place.code->kind == CodeKind::interpreted) row.code = place.code;
    row.fault = place.fault;
    if (method.method_desc != 0)
      row.method_desc = method.method_desc;
    else if (row.code)
      row.method_desc = row.code->method_desc;
    if (!emit(row)) return false;
  }
  note(list.problem);
  return true;
}

std::optional<FrameContext> StackWalker::Run::context_of(const ExplicitFrame& frame) {
  try {
    return walker_.chain_->context(frame);
  } catch (const Error& error) {
    if (takes_notes())
      note(fmt::format("{} at {:#x}: {}", to_string(frame.kind), frame.address, error.what()));
    return std::nullopt;
  }
}

const StackWalker::Run::Lead& StackWalker::Run::lead_of(std::size_t index) {
  Lead& lead = leads_[index];
  if (std::exchange(lead.asked, true)) return lead;
  if (const std::optional<FrameContext> restored = context_of(frames_[index])) {
    lead.leaf = restored->leaf;
    lead.pc = restored->registers.pc().value_or(0);
    lead.sp = restored->registers.sp().value_or(0);
  }
  return lead;
}

bool StackWalker::Run::may_look() {
  if (looks_ < max_looks) {
    ++looks_;
    return true;
  }
  note(
      fmt::format("the runtime's Frames were asked more than {} times where the stack goes on: frames may be "
                  "missing",
                  max_looks));
  return false;
}

bool StackWalker::Run::takes_notes() const {
  return result_.notes.size() <= max_notes;
}

void StackWalker::Run::note(const std::string& text) {
  std::vector<std::string>& notes = result_.notes;
  if (text.empty() || !takes_notes() || std::ranges::find(notes, text) != notes.end()) return;
  notes.push_back(notes.size() == max_notes ? "further problems are left out" : text);
}

// Once a walk: the frames themselves say the rest.
void StackWalker::Run::note_gap(std::string_view what, const std::string& why) {
  gap_ = true;
  if (std::exchange(noted_gap_, true)) return;
  note(fmt::format("frames may be missing behind {:#x}, of which {}: {}", context_.pc().value_or(0), what,
                   why));
}

StackWalker::Run::Place StackWalker::Run::classify(Address pc, bool leaf) {
  Place place;
  if (walker_.code_ == nullptr || !walker_.managed_) return place;
  try {
    CodeLookup found = walker_.code_->find(pc);
    if (auto* block = std::get_if<CodeBlock>(&found)) {
      place.code = *block;
      return place;
    }
    execution::Miss& miss = std::get<execution::Miss>(found);
    // A call that never returns may be the last instruction of its method.
    if (!leaf && miss.reason == MissReason::gap) {
      CodeLookup before = walker_.code_->find(pc - 1);
      if (auto* block = std::get_if<CodeBlock>(&before)) {
        place.code = *block;
        return place;
      }
    }
    if (is_stub(miss)) place.stub = std::move(miss);
  } catch (const Error& error) {
    place.fault = error.what();
  }
  return place;
}

bool StackWalker::Run::is_managed(Address pc) {
  return classify(pc, false).code.has_value();
}

void StackWalker::Run::note_exact_context(const Unwound& unwound) {
  leaf_ = unwound.interrupted;
  if (leaf_ || !walker_.chain_) return;
  // The code that a fault or a suspension interrupted may have been reached by unwinding the native frames of
  // the handler, as if it had called them. Only the Frame knows that the address is exact, and the rest of
  // the registers: after a stack overflow the handler runs on another stack, and so do its callers' slots.
  const auto take = [&](const FrameContext& saved, std::size_t index) {
    if (saved.registers.pc() != context_.pc() || !saved.registers.sp()) return false;
    const bool same_stack = saved.registers.sp() == context_.sp();
    if (!same_stack && (!saved.leaf || index < next_switch_)) return false;
    leaf_ = saved.leaf;
    if (same_stack) {
      // The runtime's assembly helpers save the callee-saved registers in the Frame and do not describe that
      // in their call frame information.
      for (unsigned reg = 0; reg < RegisterContext::max_registers; ++reg)
        if (const auto value = saved.registers.find(reg)) context_.set(reg, *value);
      return true;
    }
    context_ = saved.registers;
    found_by_ = FoundBy::runtime_frame;
    next_switch_ = index + 1;
    return true;
  };
  if (passed_context_ && take(*passed_context_, passed_index_)) return;
  const Address sp = context_.sp().value_or(0);
  for (std::size_t i = next_frame_; i < frames_.size() && frames_[i].address < sp && may_look(); ++i) {
    const Lead& lead = lead_of(i);
    if (lead.sp == 0 || lead.pc != context_.pc()) continue;
    if (lead.sp != context_.sp() && (!lead.leaf || i < next_switch_)) continue;
    const std::optional<FrameContext> restored = context_of(frames_[i]);
    if (restored && take(*restored, i)) return;
  }
}

void StackWalker::Run::begin_at_frame() {
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const std::optional<FrameContext> saved = context_of(frames_[i]);
    if (!saved || !saved->registers.pc() || !saved->registers.sp()) continue;
    context_ = saved->registers;
    leaf_ = saved->leaf;
    found_by_ = FoundBy::runtime_frame;
    next_switch_ = i + 1;
    return note("the thread's registers are not known: the stack begins where the runtime's own Frame says "
                "that managed code goes on, and what that code has called is missing");
  }
}

bool StackWalker::Run::leave_byte_code() {
  const auto reg = first_argument_register(context_.architecture());
  const Address named = reg ? context_.find(*reg).value_or(0) : 0;
  const auto at = std::ranges::find(frames_, named, &ExplicitFrame::address);
  if (at == frames_.end() || at->kind != FrameKind::interpreter) return true;
  const Address node = context_.sp().value_or(0);
  // The interpreter itself is handed the Frame, too: the stack pointer tells which of the two this is.
  const InterpretedMethods list = interpreted_methods(*walker_.target_, at->address, interpreted_);
  const auto method = std::ranges::find(list.methods, node, &InterpretedMethod::node);
  if (method == list.methods.end() || method->ip != context_.pc()) return true;
  first_node_ = node;
  if (!emit_frames_below(at->address + 1)) return false;
  found_by_ = FoundBy::runtime_frame;
  leaf_ = false;
  next_switch_ = next_frame_;
  const std::optional<FrameContext> caller = context_of(*at);
  context_ = caller ? caller->registers : RegisterContext(context_.cpu());
  return true;
}

void StackWalker::Run::take_call_site_of_helper() {
  next_inlined_ = std::max(next_inlined_, next_frame_);
  while (next_inlined_ < frames_.size() && frames_[next_inlined_].kind != FrameKind::inlined_call)
    ++next_inlined_;
  if (next_inlined_ >= frames_.size()) return;
  const Lead& call = lead_of(next_inlined_);
  if (call.sp == 0 || call.sp != context_.sp() || call.pc == context_.pc()) return;
  const Place at_call = classify(call.pc, false), here = classify(*context_.pc(), leaf_);
  if (at_call.code && here.code && at_call.code->start == here.code->start) context_.set_pc(call.pc);
}

stack::Walk StackWalker::Run::walk(const RegisterContext& start) {
  if (thread_ != nullptr && walker_.chain_ && thread_->frame != 0) {
    chain_ = walker_.frames_from(thread_->frame);
    frames_ = chain_->frames;
    leads_.resize(frames_.size());
    note(chain_->problem);
  }
  context_ = start;
  if (!context_.pc() || !context_.sp()) begin_at_frame();
  if (!leave_byte_code()) return result_;
  unsigned signal_frames = 0;
  const auto finish = [&](WalkEnd end, std::string reason) {
    // Frames that were not passed are shown all the same: what the thread still has on its chain is worth
    // more than silence when a walk ends early.
    if (!emit_frames_below(~Address{0})) return std::move(result_);
    result_.end = end;
    result_.reason = std::move(reason);
    return std::move(result_);
  };
  const auto fail = [&](std::string reason) { return finish(WalkEnd::failed, std::move(reason)); };
  for (;;) {
    if (!context_.pc() || !context_.sp()) return fail("the thread's registers are not known");
    if (found_by_ == FoundBy::cfi) take_call_site_of_helper();
    StackFrame frame{.registers = context_, .found_by = found_by_, .leaf = leaf_};
    Place place = classify(*context_.pc(), leaf_);
    frame.fault = place.fault;
    frame.gap = std::exchange(gap_, false);
    if (!place.fault.empty()) note_gap("it is not known what code it is", place.fault);
    std::optional<Unwound> next;
    why_.clear();
    if (place.code) {
      frame.kind = StackFrameKind::managed;
      frame.code = place.code;
      passed_context_.reset();
      if (place.code->method_desc != 0) frame.method_desc = place.code->method_desc;
      next = step_managed(frame);
      // Frames inside this method's own frame belong to calls that it makes: they come before it.
      if (next && !emit_frames_below(next->cfa)) return result_;
    } else {
      if (!emit_frames_below(*context_.sp())) return result_;
      frame.stub = place.stub;
      if (place.stub) {
        frame.method_desc = place.stub->method_desc;
        next = step_stub();
      } else {
        next = step_native();
        if (!next && !place.fault.empty()) next = step_unread();
        if (!next) next = step_unlisted();
        if (auto returned = leave_hijack_stub(next)) next = returned;
      }
    }
    if (!emit(frame)) return result_;

    if (next && next->outermost) return finish(WalkEnd::bottom, {});
    // Where the code has no unwind data, the runtime's own records lead on exactly; a frame pointer is a
    // guess.
    const std::string reason = why_;
    if (!next && place.code && !reason.empty()) note_gap("the method's caller is not known", reason);
    if (!next) next = step_explicit_frame();
    if (!next) next = step_last_resort();
    if (!next) return fail(reason.empty() ? why_ : reason);
    // Thread entry code that has no unwind data of its own ends in a null return address.
    if (next->outermost || next->caller.pc().value_or(0) == 0) return finish(WalkEnd::bottom, {});
    const Address old_sp = *context_.sp();
    const Address new_sp = next->caller.sp().value_or(0);
    // Faults within handlers of faults may nest as deep as the stack; only changes of the stack are counted.
    if (next->interrupted && new_sp <= old_sp && ++signal_frames > max_signal_frames)
      return fail("too many signal frames on other stacks");
    // arm64 leaf functions use no stack: the same stack pointer with another pc is progress.
    const bool same_stack_progress = new_sp == old_sp && leaf_ && next->caller.pc() != context_.pc();
    if (!next->interrupted && new_sp <= old_sp && !same_stack_progress)
      return fail(fmt::format("the stack pointer does not grow: {:#x} after {:#x}", new_sp, old_sp));
    context_ = next->caller;
    found_by_ = next->found_by;
    note_exact_context(*next);
  }
}

stack::Walk StackWalker::walk(const RegisterContext& start, const RuntimeThread* thread,
                              const std::function<bool(const StackFrame&)>& visit, WalkOptions options) {
  Run run(*this, thread, visit, options);
  stack::Walk walk = run.walk(start);
  walk.steps = run.steps();
  return walk;
}

} // namespace clr
