// One stack of managed, native and runtime frames, walked from any register context.
// Source: dotnet/runtime docs/design/datacontracts/StackWalk.md; src/coreclr/vm/stackwalk.cpp. The splicing
// of native frames is ours.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/isa/frame_layout.h"
#include "core/isa/registers.h"
#include "core/stack/frame_chain.h"
#include "core/stack/managed_unwinder.h"
#include "core/stack/threads.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

class NativeUnwinder;

enum class StackFrameKind : std::uint8_t { managed, native, runtime };
std::string_view to_string(StackFrameKind kind);

struct StackFrame {
  StackFrameKind kind = StackFrameKind::native;
  RegisterContext registers; // as they are in this frame; pc and sp are always known
  FoundBy found_by = FoundBy::context;
  bool leaf = false;                   // pc is the instruction that runs next; otherwise a return address
  std::optional<CodeBlock> code;       // managed
  std::optional<execution::Miss> stub; // native: the code is a stub of the runtime
  std::optional<ExplicitFrame> frame;  // runtime; sp is the Frame's address then, pc 0
  std::optional<Address>
      method_desc;   // managed: the method; runtime: the method the Frame names; stub: the precode's
  std::string fault; // what went wrong at this frame; the walk may have gone on
  bool gap = false;  // frames may be missing before this one

  Address pc() const;
  Address sp() const;
  // The address to look up for names and lines: pc, or the call before it for a return address.
  Address lookup_pc() const { return leaf || pc() == 0 ? pc() : pc() - 1; }
};

// Why a walk ended.
enum class WalkEnd : std::uint8_t {
  bottom,  // the outermost frame: no caller
  limit,   // max_frames reached
  stopped, // the visitor asked
  failed,  // Walk::reason says why
};

namespace stack {

struct Walk {
  WalkEnd end = WalkEnd::bottom;
  std::string reason; // for failed: a sentence
  // Problems of the Frame chain and such, that did not end the walk: each once, at most about 100.
  std::vector<std::string> notes;
  // What the walk took, for who walks many stacks: the frames that it told, the runtime's Frames of the
  // thread, and the nodes of interpreted methods.
  std::size_t steps = 0;
};

} // namespace stack

struct WalkOptions {
  std::size_t max_frames = 1'000'000;
};

class StackWalker {
public:
  // `target` and `code` are null for a process without a runtime; then every frame is native. All must
  // outlive the walker. No reads.
  StackWalker(const Target* target, ExecutionManager* code, NativeUnwinder& native);
  ~StackWalker();

  // Walks from `start` outward and hands each frame to `visit` (false stops). `thread` is the runtime's, null
  // for one that it does not know. Runtime frames are reported where they lie among the others. Where `start`
  // lacks pc or sp, the walk begins with the first of them that says where code goes on. Code that the
  // runtime lists and whose image the target lacks is a native frame with a fault; behind it the runtime's
  // Frames and the frame pointer lead on, and a note says that frames may be missing. The stack pointer grows
  // with every frame; a walk that cannot go on says why. Never throws for target data. Cost per managed
  // frame: that of ManagedUnwinder::unwind; per frame without its image up to max_words_without_frame lookups
  // of code. The chain of Frames that was read last is kept: a walk from the same head does not read it
  // again.
  stack::Walk walk(const RegisterContext& start, const RuntimeThread* thread,
                   const std::function<bool(const StackFrame&)>& visit, WalkOptions options = {});

private:
  class Run;
  // The chain of Frames from `head`, never null. Only with chain_.
  std::shared_ptr<const FrameChain::Result> frames_from(Address head);

  const Target* target_;
  ExecutionManager* code_;
  NativeUnwinder* native_;
  std::optional<FrameChain> chain_;
  std::optional<ManagedUnwinder> managed_;
  Address last_head_ = 0;                                // of last_chain_
  std::shared_ptr<const FrameChain::Result> last_chain_; // null: none was read yet
};

} // namespace clr
