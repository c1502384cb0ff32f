#include "core/stack/stack_roots.h"

#include "core/memory/target_pointer.h"
#include "core/stack/gc_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// Why pointer_at() has none.
std::string why_no_word(const Target& target, Address at) {
  try {
    target.read_pointer(at);
  } catch (const Error& error) {
    return error.what();
  }
  return "the word was there when it was read again";
}

} // namespace

StackRoots::StackRoots(const Target& target, ExecutionManager& code, CallShapes* shapes,
                       std::size_t most_words)
    : target_(&target), code_(&code), chain_(target), unwinder_(code), live_(code), filters_(code),
      references_(code, shapes), most_words_(most_words) {}

void StackRoots::begin(const Visit& visit, const RuntimeThread* thread) {
  visit_ = &visit;
  stopped_ = false;
  may_handle_ = thread == nullptr || thread->exception_tracker != 0 || !thread->fault.empty();
  lost_ = false;
  index_ = 0;
  aborted_.clear();
  left_.begin();
  forget_waiting();
  notes_.clear();
  unsupported_.clear();
  gc_frames_.clear();
  next_gc_frame_ = gc_words_ = 0;
  if (thread == nullptr) return;
  GcFrames found = read_gc_frames(*target_, *thread);
  gc_frames_ = std::move(found.frames);
  if (!found.problem.empty()) note(std::move(found.problem));
}

void StackRoots::note(std::string text) {
  if (notes_.size() < max_notes && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(std::move(text));
}

bool StackRoots::tell(FrameRoots roots) {
  if (roots.roots.empty() || stopped_) return !stopped_;
  for (StackRoot& root : roots.roots)
    if (lost_ && root.why_uncertain.empty())
      root.why_uncertain =
          "frames before this one are not known: an exception handler may run there, and have "
          "left this one behind";
  if (!(*visit_)(roots)) stopped_ = true;
  return !stopped_;
}

bool StackRoots::tell_or_wait(FrameRoots roots) {
  if (!left_.waits_for()) return tell(std::move(roots));
  if (roots.roots.empty()) return true;
  if (waiting_.size() == max_waiting || roots.roots.size() > max_waiting_roots - waiting_roots_) {
    more_waiting_ = true;
    return true;
  }
  waiting_roots_ += roots.roots.size();
  waiting_.push_back(std::move(roots));
  return true;
}

void StackRoots::forget_waiting() {
  waiting_.clear();
  waiting_roots_ = 0;
  more_waiting_ = false;
}

bool StackRoots::take_word() {
  if (words_ < most_words_) {
    ++words_;
    return true;
  }
  note(fmt::format("the frames that were looked at have more than {} places of references, and the rest is "
                   "left out",
                   most_words_));
  return false;
}

bool StackRoots::read_word(FrameRoots& roots, Address slot, bool interior) {
  const std::optional<Address> value = pointer_at(target_->memory(), target_->platform(), slot);
  if (!value) {
    if (notes_.size() < max_notes)
      note(fmt::format("{} at {:#x}: {}", roots.frame_type, roots.sp, why_no_word(*target_, slot)));
    return false;
  }
  if (*value != 0)
    roots.roots.push_back(
        {.slot = {.interior = interior}, .address = slot, .value = *value, .why_uncertain = {}});
  return true;
}

bool StackRoots::add_runtime_frame(const StackFrame& frame) {
  const ExplicitFrame& explicit_frame = *frame.frame;
  const auto failed = [&](std::string_view what, const Error& error) {
    note(fmt::format("{}{} at {:#x}: {}", what, to_string(explicit_frame.kind), explicit_frame.address,
                     error.what()));
  };
  if (explicit_frame.kind == FrameKind::faulting_exception ||
      explicit_frame.kind == FrameKind::software_exception) {
    try {
      if (auto context = chain_.context(explicit_frame)) aborted_.push_back(std::move(*context));
    } catch (const Error& error) {
      failed("", error);
    }
  }
  if (!holds_references(explicit_frame.kind)) return true;
  FrameRoots roots{.frame = index_,
                   .sp = explicit_frame.address,
                   .code = {},
                   .header = {},
                   .frame_type = to_string(explicit_frame.kind),
                   .method_desc = frame.method_desc,
                   .roots = {}};
  try {
    for (const FrameReference& reference : references_.of(explicit_frame)) {
      if (!take_word()) break;
      read_word(roots, reference.slot, reference.interior);
    }
  } catch (const Error& error) {
    // What a frame that a handler hides holds is of no interest.
    if (!left_.waits_for()) failed("arguments are not known in the ", error);
  }
  return tell_or_wait(std::move(roots));
}

bool StackRoots::add_gc_frames(Address limit) {
  bool more = true;
  for (; more && next_gc_frame_ < gc_frames_.size() && gc_frames_[next_gc_frame_].address < limit;
       ++next_gc_frame_) {
    const GcFrame& gc_frame = gc_frames_[next_gc_frame_];
    FrameRoots roots{.frame = index_ == 0 ? 0 : index_ - 1,
                     .sp = gc_frame.address,
                     .code = {},
                     .header = {},
                     .frame_type = "GCFrame",
                     .method_desc = {},
                     .roots = {}};
    // The words stand behind each other: where one cannot be read, neither can the rest.
    for (std::uint32_t i = 0; i < gc_frame.count; ++i) {
      if (++gc_words_ > max_gc_words) {
        note(fmt::format(
            "GCFrame at {:#x}: those of the thread protect more than {} words, and the rest is left out",
            gc_frame.address, max_gc_words));
        break;
      }
      if (!read_word(roots, gc_frame.references + Address{i} * target_->pointer_size(), gc_frame.interior))
        break;
    }
    more = tell(std::move(roots));
  }
  return more;
}

// The exception Frame lies directly below the code that it interrupted, and holds its registers.
FrameStand StackRoots::stand_of(const StackFrame& frame) const {
  const bool aborted = std::ranges::any_of(aborted_, [&](const FrameContext& context) {
    return context.registers.pc() == frame.registers.pc() && context.registers.sp() == frame.registers.sp();
  });
  return aborted ? FrameStand::aborted : frame.leaf ? FrameStand::leaf : FrameStand::caller;
}

FrameRoots StackRoots::roots_of(const StackFrame& frame, FrameStand stand, const LiveSlots& live) {
  FrameRoots result{.frame = index_,
                    .ip = frame.pc(),
                    .sp = frame.sp(),
                    .code = frame.code,
                    .header = live.header,
                    .frame_type = {},
                    .method_desc = {},
                    .roots = {}};
  // Texts that nobody will see are not made.
  const auto failed = [&](const GcSlot& slot, std::string_view why) {
    if (notes_.size() >= max_notes) return;
    note(fmt::format("frame {} at {:#x}: {} cannot be read: {}", index_, frame.pc(),
                     gc_slot_name(frame.registers.cpu(), *live.header, slot), why));
  };
  for (const GcSlot& slot : live.slots) {
    if (!take_word()) break;
    StackRoot root{.slot = slot, .address = {}, .why_uncertain = {}};
    try {
      if (slot.reg) {
        const auto value = frame.registers.find(*slot.reg);
        if (!value) {
          failed(slot, "its value is not known");
          continue;
        }
        root.value = *value;
      } else {
        root.address = gc_place(unwinder_, frame, *live.header, slot.base, slot.offset);
        if (!root.address) {
          failed(slot, "its base is not known");
          continue;
        }
        // The callee owns the arguments that were passed to it.
        if (stand != FrameStand::leaf && !slot.untracked &&
            *root.address - frame.sp() < live.header->outgoing_area)
          continue;
        const std::optional<Address> value =
            pointer_at(target_->memory(), target_->platform(), *root.address);
        if (!value) {
          if (notes_.size() < max_notes) failed(slot, why_no_word(*target_, *root.address));
          continue;
        }
        root.value = *value;
      }
    } catch (const Error& error) {
      failed(slot, error.what());
      continue;
    }
    if (root.value == 0) continue;
    if (slot.untracked) root.why_uncertain = live.why_uncertain;
    result.roots.push_back(std::move(root));
  }
  return result;
}

bool StackRoots::add_managed(const StackFrame& frame) {
  const FrameStand stand = stand_of(frame);
  aborted_.clear();
  const CodeBlock& block = *frame.code;
  bool funclet = false, filter = false;
  try {
    funclet = code_->is_funclet(block);
    filter = funclet && filters_.is_filter(block);
  } catch (const Error& error) {
    note(fmt::format("frame {} at {:#x}: whether it is an exception filter is not known: {}", index_,
                     frame.pc(), error.what()));
    lost_ = true;
  }
  FrameRoots roots;
  LeftFrames::Stand place = LeftFrames::Stand::alive;
  try {
    const LiveSlots& live = live_.at(block, frame.pc(), stand, filter);
    place = left_.next(block.start, funclet, funclet && !filter, [&] {
      const auto reg = live.header->frame_register;
      return reg ? frame.registers.find(*reg) : std::nullopt;
    });
    if (place == LeftFrames::Stand::method) {
      forget_waiting();
      return true;
    }
    roots = roots_of(frame, stand, live);
  } catch (const Error& error) {
    note(fmt::format("frame {} at {:#x}: {}", index_, frame.pc(), error.what()));
    if (unsupported_.empty() && error.kind() == ErrorKind::unsupported_contract) unsupported_ = error.what();
    return true;
  }
  return place == LeftFrames::Stand::left ? tell_or_wait(std::move(roots)) : tell(std::move(roots));
}

bool StackRoots::add(const StackFrame& frame) {
  if (frame.gap) lost_ = may_handle_;
  bool more = add_gc_frames(frame.sp());
  if (frame.kind == StackFrameKind::runtime && frame.frame)
    more = add_runtime_frame(frame) && more;
  else if (frame.kind == StackFrameKind::managed && frame.code)
    more = add_managed(frame) && more;
  else if (!frame.fault.empty()) {
    // Nobody knows whether that is managed code, and what it holds.
    note(fmt::format("frame {} at {:#x} cannot be looked up: {}", index_, frame.pc(), frame.fault));
  }
  ++index_;
  return more && !stopped_;
}

std::vector<std::string> StackRoots::finish() {
  if (!stopped_) add_gc_frames(~Address{0});
  if (const auto body = left_.waits_for()) {
    // The walk did not meet the method of the handler: the frames that it hides may be alive.
    note(fmt::format("the frame of the method at {:#x}, whose handler runs, was not found", *body));
    for (FrameRoots& waiting : waiting_) {
      for (StackRoot& root : waiting.roots)
        root.why_uncertain = "an exception handler may have left this frame behind";
      if (!tell(std::move(waiting))) break;
    }
    if (more_waiting_) note("further frames behind it hold references that are left out");
    left_.begin();
    forget_waiting();
  }
  return std::move(notes_);
}

} // namespace clr
