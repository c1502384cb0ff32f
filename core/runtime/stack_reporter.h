// Whole stacks as rows: made by core's own walker, with a name for every frame.
#pragma once

#include "core/runtime/exact_methods.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stack_rows.h"
#include "core/stack/native_unwinder.h"
#include "core/stack/threads.h"
#include "core/stack/walker.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

// "bottom", "limit", "interrupted", or the reason why the walk ended early.
std::string walk_end_text(const stack::Walk& walk);

class StackReporter {
public:
  // Fills in module, symbol and position of a native frame; `lookup` is the address of its call.
  using NativeNamer = std::function<void(FrameRow& row, Address lookup)>;

  // `runtime` and `memory` must outlive this. No reads.
  StackReporter(Runtime& runtime, MemoryReader& memory, NativeNamer name_native);
  ~StackReporter();

  // The runtime's threads; `problem` says what is wrong with the list. Read on first use. Never throws.
  const ThreadList& threads();
  // The runtime's thread with this kernel id; null if the runtime knows no such thread.
  const RuntimeThread* thread_of(std::uint64_t os_id);
  // The same for who needs no name: a walk. Names cost the fields of a type, and of a large process the list
  // of all its generic instances.
  const RuntimeThread* thread_without_name(std::uint64_t os_id);

  struct Options {
    std::size_t max_frames = 1'000'000; // a stack overflow holds a few hundred thousand
    bool runtime_frames = true;         // the runtime's explicit Frames as separate rows
    bool registers = false;             // include each frame's registers
    bool lines = true;                  // include the source lines of managed frames
  };
  struct End {
    std::string end;                // same as ThreadRow::end
    std::vector<std::string> notes; // problems on the way
  };
  // Walks the thread with kernel id `os_id` from `start` outward. Each frame is a row, numbered from 0; stops
  // when `visit` returns false. Never throws because of target data. Cost warm: 1 to 3 reads per frame.
  End walk(const RegisterContext& start, std::uint64_t os_id, const Options& options,
           const std::function<bool(const FrameRow&)>& visit);

  // The same of the frames alone, without rows and names. Cost warm: 1 to 3 reads per frame.
  stack::Walk walk_frames(const RegisterContext& start, std::uint64_t os_id,
                          const std::function<bool(const StackFrame&)>& visit);

  // The method of a managed frame, with its source line if that is wanted. Kept. Never throws.
  std::shared_ptr<const MethodAnswer> answer_of(const StackFrame& frame, bool with_line);
  // The unwinder of the walks.
  NativeUnwinder& native() { return native_; }
  // The row of a frame of such a walk. Never throws.
  FrameRow row_of(const StackFrame& frame, const Options& options);

private:
  // Names a frame by its image alone. False when it is in no image of the runtime's.
  bool name_by_image(FrameRow& row, Address lookup);
  ThreadList& list();
  // Says in the notes of a walk that the runtime's Frames were not known.
  void note_unknown_thread(std::uint64_t os_id, stack::Walk& walk);

  Runtime* runtime_;
  NativeNamer name_native_;
  NativeUnwinder native_;
  StackWalker walker_;
  std::optional<ExactMethods> exact_; // with a runtime
  std::optional<ThreadList> threads_;
  bool named_ = false; // its threads
  std::unordered_map<std::uint64_t, const RuntimeThread*> by_os_id_;
  // By pc. The first index separates leaves from return addresses, the second answers with lines from those
  // without.
  std::unordered_map<Address, std::shared_ptr<const MethodAnswer>> answers_[2][2];
};

} // namespace clr
