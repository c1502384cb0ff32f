// The state of one walk of a StackWalker, which no other file of the room needs: walker.cpp holds the order
// of the walk, walk_steps.cpp the steps outward.
#pragma once

#include "core/stack/interpreted_methods.h"
#include "core/stack/walker.h"

#include <memory>
#include <span>

namespace clr {

// Times that a walk may compare a frame with one of the runtime's Frames. Each Frame leads to one frame or to
// none, so that a sound stack takes a few for each: this is twenty for each of the most Frames that a thread
// may have.
constexpr std::size_t max_looks = 2'000'000;

// One walk. The state is the context of the frame to be reported next, and the explicit Frames not yet
// passed.
class StackWalker::Run {
public:
  Run(StackWalker& walker, const RuntimeThread* thread, const std::function<bool(const StackFrame&)>& visit,
      const WalkOptions& options)
      : walker_(walker), thread_(thread), visit_(visit), options_(options) {}

  stack::Walk walk(const RegisterContext& start);
  // Walk::steps, so far.
  std::size_t steps() const { return emitted_ + frames_.size() + interpreted_.nodes; }

private:
  // ReadyToRun code enters native code through a helper, whose return address the InlinedCallFrame records;
  // the call itself stands a few instructions further. The runtime reports the recorded one, and so does
  // this.
  void take_call_site_of_helper();

  // The code at a pc: of a method, of a stub, or neither (native code).
  struct Place {
    std::optional<CodeBlock> code;
    std::optional<execution::Miss> stub;
    std::string fault;
  };
  Place classify(Address pc, bool leaf);
  bool is_managed(Address pc);

  // The caller of each kind of frame; nothing when there is none to be had, with why_ set.
  std::optional<Unwound> step_managed(StackFrame& frame);
  std::optional<Unwound> step_stub();
  std::optional<Unwound> step_native();
  // Code of no module and no range section that is about to return: a stub that the runtime lists nowhere
  // (call counting stubs, copies of the write barriers), or a call to nowhere.
  std::optional<Unwound> step_unlisted();
  // The method to which a hijacked return address belongs, when this is the runtime's stub that runs in its
  // place. `next`: its caller by the stub's own call frame information, which does not lead there.
  std::optional<Unwound> leave_hijack_stub(const std::optional<Unwound>& next);
  // The caller of ReadyToRun code whose image the target lacks. Such code sets a frame pointer, but for short
  // methods with few calls. Source: dotnet/runtime src/coreclr/jit/regalloc.cpp (rpMustCreateEBPFrame).
  std::optional<Unwound> step_unread();
  // The caller of such code when the frame pointer is still that of the caller, whose unwind data say where
  // its stack pointer is then, and so where the return address lies. For CPUs that return by the stack.
  std::optional<Unwound> caller_with_frame_pointer();
  // With this stack pointer, the method saved the frame pointer of its own caller where `fp` points to.
  bool keeps_frame_pointer_at(const CodeBlock& block, Address sp, Address fp);
  // The runtime lists an image of ReadyToRun code at `pc`, whether or not the target has it.
  bool in_listed_image(Address pc);
  // The return address of a call to nowhere, or the frame pointer.
  std::optional<Unwound> step_last_resort();
  // Continues from the first explicit Frame beyond the present stack pointer that leads to managed code.
  std::optional<Unwound> step_explicit_frame();
  // The real caller when the return address that was just popped is the runtime's hijack trampoline.
  void undo_hijack(Unwound& unwound);
  void note_exact_context(const Unwound& unwound);
  // Where the registers of the thread are not known: begins with the first explicit Frame that says where
  // code goes on.
  void begin_at_frame();
  // Where the registers are those of a method that the interpreter executes (a debugger shows them so): the
  // walk begins behind the InterpreterFrame that they name, so that its methods are told once. False when
  // the visitor asked to stop.
  bool leave_byte_code();

  bool emit(const StackFrame& frame);
  // Reports the explicit Frames below `limit`. False when the visitor asked to stop.
  bool emit_frames_below(Address limit);
  // Reports the methods that the interpreter executes for an InterpreterFrame, newest first.
  bool emit_interpreted(const ExplicitFrame& frame);
  std::optional<FrameContext> context_of(const ExplicitFrame& frame);

  // What a Frame restores, as far as the frames of the walk are compared with it.
  struct Lead {
    bool asked = false;          // the next three are known
    bool leaf = false;           // the same as FrameContext::leaf
    Address pc = 0, sp = 0;      // 0: it restores nothing
    std::optional<bool> goes_on; // `pc` is code of a method
  };
  // Of frames_[index]; it is read once a walk.
  const Lead& lead_of(std::size_t index);
  // That Frame leads to a method, or into an image of the runtime that the target lacks. Looked up once a
  // walk.
  bool goes_on(std::size_t index);
  // Counts one comparison with a Frame. False, with a note, after max_looks of them.
  bool may_look();
  // The same Frame is looked at from several places of a walk; what is wrong with it is told once.
  void note(const std::string& text);
  // Whether another note would be kept: who walks over many Frames asks before it makes the text.
  bool takes_notes() const;
  void note_gap(std::string_view what, const std::string& why);

  StackWalker& walker_;
  const RuntimeThread* thread_;
  const std::function<bool(const StackFrame&)>& visit_;
  const WalkOptions& options_;

  stack::Walk result_;
  std::size_t emitted_ = 0;
  std::shared_ptr<const FrameChain::Result> chain_; // holds frames_
  std::span<const ExplicitFrame> frames_;           // of the thread, in order of their addresses
  std::size_t next_frame_ = 0;                      // first one that was not reported
  std::vector<Lead> leads_;                         // of each of frames_
  std::size_t looks_ = 0;
  // No Frame before this one leads further out than led_sp_ to a method. The stack pointer grows, but for a
  // change of the stack.
  std::size_t led_ = 0;
  Address led_sp_ = 0;
  std::size_t next_inlined_ = 0; // no InlinedCallFrame that was not reported lies before this one
  InterpretedLists interpreted_;

  // The context that the last Frame passed since the last managed frame restores. It is frames_[next_frame_ -
  // 1], or one before it.
  std::optional<FrameContext> passed_context_;
  std::size_t passed_index_ = 0;
  // Frames before this one cannot take the walk to another stack any more. A walk goes outward, and so do the
  // stacks that it changes to: without this rule a context that leads back would be walked for ever.
  std::size_t next_switch_ = 0;

  Address first_node_ = 0; // interpreted methods that this one called are left out; 0: none are

  RegisterContext context_;
  FoundBy found_by_ = FoundBy::context;
  bool leaf_ = true;
  bool noted_gap_ = false;
  bool gap_ = false; // frames may be missing before the next one
  std::string why_;  // why the last step gave nothing
};

} // namespace clr
