// Exact roots: the references that the frames of a thread hold, as the runtime's collector would find them.
// Source: dotnet/runtime src/coreclr/vm/stackwalk.cpp, src/coreclr/vm/eetwain.cpp
// (EECodeManager::EnumGcRefs).
#pragma once

#include "core/stack/filter_funclets.h"
#include "core/stack/frame_references.h"
#include "core/stack/gc_frames.h"
#include "core/stack/left_frames.h"
#include "core/stack/live_slots.h"
#include "core/stack/walker.h"

namespace clr {

struct StackRoot {
  GcSlot slot;                    // of a Frame of the runtime's only whether it is interior
  std::optional<Address> address; // of the stack word; nothing for a register
  Address value = 0;              // never null; of an interior root any address
  std::string why_uncertain;      // empty: the slot holds a reference
};

// The roots of one frame of a walk, managed or the runtime's.
struct FrameRoots {
  // Its index in the walk, counted from 0. Of a GCFrame, which is no frame of a walk, that of the native
  // frame in which it lies.
  std::size_t frame = 0;
  Address ip = 0, sp = 0; // of a Frame of the runtime's 0 and its address
  std::optional<CodeBlock> code;
  std::shared_ptr<const GcHeader> header; // null for Frames of the runtime's
  std::string_view frame_type;            // "PrestubMethodFrame", "GCFrame"; empty for managed frames
  std::optional<Address> method_desc;     // that a Frame of the runtime's names
  std::vector<StackRoot> roots;
};

class StackRoots {
public:
  using Visit = std::function<bool(const FrameRoots&)>;

  // `target` and `code` must outlive this, and so must `shapes`: null leaves out what only the signatures of
  // methods tell. No reads. It may be used for one thread after another: what it learned of code is kept for
  // the stop. It looks at no more than `most_words` slots and arguments of all threads together.
  StackRoots(const Target& target, ExecutionManager& code, CallShapes* shapes = nullptr,
             std::size_t most_words = max_root_words);

  // Begins a thread; `thread` is null when the runtime does not know it. Roots go to `visit`, which must live
  // until finish(); false stops. Cost: that of read_gc_frames.
  void begin(const Visit& visit, const RuntimeThread* thread = nullptr);
  // The next frame of the walk, innermost first. False when the visitor wants no more. Never throws for
  // target data. Cost: that of LiveSlotReader::at or FrameReferences::of, and 1 read for each stack word.
  bool add(const StackFrame& frame);
  // The walk has ended. What could not be read or is not known, each once.
  std::vector<std::string> finish();
  // Why a frame's roots are not known where the runtime's descriptor is the cause, of the first such frame of
  // this walk; empty: there is none.
  const std::string& unsupported() const { return unsupported_; }
  // Whether no more slots and arguments are looked at: those of the last threads may not all be told.
  bool reached_limit() const { return words_ == most_words_; }

  // Frames whose roots wait until it is known whether a handler's method hides them, and these roots; texts
  // of finish().
  static constexpr std::size_t max_waiting = 100'000, max_waiting_roots = 2'000'000, max_notes = 100;
  // A stack overflow of some hundred thousand frames has some millions. Frames may share GC info, so that
  // each has max_gc_slots.
  static constexpr std::size_t max_root_words = 20'000'000;
  static constexpr std::size_t max_gc_words = 1'000'000; // that the GCFrames of one thread protect

private:
  bool add_managed(const StackFrame& frame);
  bool add_runtime_frame(const StackFrame& frame);
  // The GCFrames that lie below `limit`.
  bool add_gc_frames(Address limit);
  // False when the word cannot be read.
  bool read_word(FrameRoots& roots, Address slot, bool interior);
  bool tell_or_wait(FrameRoots roots);
  void forget_waiting();
  FrameStand stand_of(const StackFrame& frame) const;
  FrameRoots roots_of(const StackFrame& frame, FrameStand stand, const LiveSlots& live);
  bool tell(FrameRoots roots);
  // Counts one that is looked at; false, and a note, when there were too many.
  bool take_word();
  void note(std::string text);

  const Target* target_;
  ExecutionManager* code_;
  FrameChain chain_;
  ManagedUnwinder unwinder_;
  LiveSlotReader live_;
  FilterFunclets filters_;
  FrameReferences references_;

  const Visit* visit_ = nullptr;
  bool stopped_ = false;
  // Whether a handler may run on this thread, and whether its frame may be one that could not be looked up.
  bool may_handle_ = true, lost_ = false;
  std::size_t index_ = 0;
  std::vector<GcFrame> gc_frames_;
  std::size_t next_gc_frame_ = 0, gc_words_ = 0; // the words that were read
  std::vector<FrameContext> aborted_; // contexts of exception Frames passed since the last managed frame
  // A funclet reports for its whole method: the frames outward up to that method's own, and that one, hold
  // nothing any more.
  LeftFrames left_;
  std::vector<FrameRoots> waiting_;
  std::size_t waiting_roots_ = 0;
  bool more_waiting_ = false; // that were not kept
  std::size_t most_words_, words_ = 0;
  std::vector<std::string> notes_;
  std::string unsupported_;
};

} // namespace clr
