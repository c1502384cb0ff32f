// Exact roots: the references that the frames of a thread hold, as the runtime's collector would find them.
// Source: dotnet/runtime src/coreclr/vm/stackwalk.cpp, src/coreclr/vm/eetwain.cpp
// (EECodeManager::EnumGcRefs).
#pragma once

#include "core/stack/filter_funclets.h"
#include "core/stack/live_slots.h"
#include "core/stack/walker.h"

namespace clr {

struct StackRoot {
  GcSlot slot;
  std::optional<Address> address; // of the stack word; nothing for a register
  Address value = 0;              // never null; of an interior root any address
  std::string why_uncertain;      // empty: the slot holds a reference
};

// The roots of one frame of a walk, managed or the runtime's.
struct FrameRoots {
  std::size_t frame = 0; // its index in the walk, counted from 0
  Address ip = 0, sp = 0;
  std::optional<CodeBlock> code;
  std::shared_ptr<const GcHeader> header;
  std::vector<StackRoot> roots;
};

class StackRoots {
public:
  using Visit = std::function<bool(const FrameRoots&)>;

  // `target` and `code` must outlive this. No reads. It may be used for one thread after another: what it
  // learned of code is kept for the stop.
  StackRoots(const Target& target, ExecutionManager& code);

  // Begins a thread. Roots go to `visit`, which must live until finish(); false stops.
  void begin(const Visit& visit);
  // The next frame of the walk, innermost first. False when the visitor wants no more. Never throws for
  // target data. Cost: that of LiveSlotReader::at, and 1 read for each stack word.
  bool add(const StackFrame& frame);
  // The walk has ended. What could not be read or is not known, each once.
  std::vector<std::string> finish();

  // Frames whose roots wait until it is known whether a handler's method hides them; roots of one frame;
  // texts of finish().
  static constexpr std::size_t max_waiting = 100'000, max_notes = 100;

private:
  // A funclet reports for its whole method: the frames outward up to that method's own, and that one, hold
  // nothing any more.
  struct Hidden {
    Address body = 0;
    std::optional<Address> frame_register;
    std::vector<FrameRoots> waiting;
  };

  bool add_managed(const StackFrame& frame);
  void note_runtime_frame(const StackFrame& frame);
  FrameStand stand_of(const StackFrame& frame) const;
  FrameRoots roots_of(const StackFrame& frame, FrameStand stand, const LiveSlots& live);
  bool tell(FrameRoots roots);
  void note(std::string text);

  const Target* target_;
  ExecutionManager* code_;
  FrameChain chain_;
  ManagedUnwinder unwinder_;
  LiveSlotReader live_;
  FilterFunclets filters_;

  const Visit* visit_ = nullptr;
  bool stopped_ = false;
  std::size_t index_ = 0;
  std::vector<FrameContext> aborted_; // contexts of exception Frames passed since the last managed frame
  std::optional<Hidden> hidden_;
  std::vector<std::string> notes_;
};

} // namespace clr
