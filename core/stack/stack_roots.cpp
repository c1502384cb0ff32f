#include "core/stack/stack_roots.h"

#include "core/stack/gc_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// Frames that hold arguments of a call whose places only its signature or a table of the image tells.
bool holds_arguments(FrameKind kind) {
  switch (kind) {
  case FrameKind::func_eval:
  case FrameKind::pinvoke_calli:
  case FrameKind::prestub_method:
  case FrameKind::call_counting_helper:
  case FrameKind::stub_dispatch:
  case FrameKind::external_method:
  case FrameKind::dynamic_helper:
  case FrameKind::protect_value_class:
    return true;
  default:
    return false;
  }
}

} // namespace

StackRoots::StackRoots(const Target& target, ExecutionManager& code)
    : target_(&target), code_(&code), chain_(target), unwinder_(code), live_(code), filters_(code) {}

void StackRoots::begin(const Visit& visit) {
  visit_ = &visit;
  stopped_ = false;
  index_ = 0;
  aborted_.clear();
  hidden_.reset();
  notes_.clear();
}

void StackRoots::note(std::string text) {
  if (notes_.size() < max_notes && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(std::move(text));
}

bool StackRoots::tell(FrameRoots roots) {
  if (roots.roots.empty() || stopped_) return !stopped_;
  if (!(*visit_)(roots)) stopped_ = true;
  return !stopped_;
}

void StackRoots::note_runtime_frame(const StackFrame& frame) {
  const ExplicitFrame& explicit_frame = *frame.frame;
  if (explicit_frame.kind == FrameKind::faulting_exception ||
      explicit_frame.kind == FrameKind::software_exception) {
    try {
      if (auto context = chain_.context(explicit_frame)) aborted_.push_back(std::move(*context));
    } catch (const Error& error) {
      note(fmt::format("{} at {:#x}: {}", to_string(explicit_frame.kind), explicit_frame.address,
                       error.what()));
    }
  }
  if (!hidden_ && holds_arguments(explicit_frame.kind))
    note(fmt::format("the arguments in the {} at {:#x} are not read", to_string(explicit_frame.kind),
                     explicit_frame.address));
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
                    .roots = {}};
  const auto failed = [&](const GcSlot& slot, std::string_view why) {
    note(fmt::format("frame {} at {:#x}: {} cannot be read: {}", index_, frame.pc(),
                     gc_slot_name(frame.registers.cpu(), *live.header, slot), why));
  };
  for (const GcSlot& slot : live.slots) {
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
        root.value = target_->read_pointer(*root.address);
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
  }
  FrameRoots roots;
  std::optional<Address> frame_register;
  try {
    const LiveSlots& live = live_.at(block, frame.pc(), stand, filter);
    if (live.header->frame_register) frame_register = frame.registers.find(*live.header->frame_register);
    const bool parent =
        hidden_ && !funclet && block.start == hidden_->body && frame_register == hidden_->frame_register;
    if (parent) {
      hidden_.reset();
      return true;
    }
    roots = roots_of(frame, stand, live);
  } catch (const Error& error) {
    note(fmt::format("frame {} at {:#x}: {}", index_, frame.pc(), error.what()));
    return true;
  }
  if (hidden_) {
    if (!roots.roots.empty() && hidden_->waiting.size() < max_waiting)
      hidden_->waiting.push_back(std::move(roots));
    return true;
  }
  const bool more = tell(std::move(roots));
  if (funclet && !filter)
    hidden_ = Hidden{.body = block.start, .frame_register = frame_register, .waiting = {}};
  return more;
}

bool StackRoots::add(const StackFrame& frame) {
  bool more = true;
  if (frame.kind == StackFrameKind::runtime && frame.frame)
    note_runtime_frame(frame);
  else if (frame.kind == StackFrameKind::managed && frame.code)
    more = add_managed(frame);
  ++index_;
  return more && !stopped_;
}

std::vector<std::string> StackRoots::finish() {
  if (hidden_) {
    // The walk did not meet the method of the handler: the frames that it hides may be alive.
    note(fmt::format("the frame of the method at {:#x}, whose handler runs, was not found", hidden_->body));
    for (FrameRoots& waiting : hidden_->waiting) {
      for (StackRoot& root : waiting.roots)
        root.why_uncertain = "an exception handler may have left this frame behind";
      if (!tell(std::move(waiting))) break;
    }
    hidden_.reset();
  }
  return std::move(notes_);
}

} // namespace clr
