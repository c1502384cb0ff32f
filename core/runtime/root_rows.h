// The roots of stacks as rows: who holds which object.
#pragma once

#include "core/runtime/stack_reporter.h"
#include "core/stack/stack_roots.h"

#include <unordered_map>

namespace clr {

struct RootRow {
  std::uint64_t os_id = 0; // of the thread
  std::size_t frame = 0;   // its index among all frames, as in `clrbt --json`
  Address ip = 0, sp = 0;
  std::shared_ptr<const MethodAnswer> answer; // never null
  Cpu cpu = Cpu::unknown;
  std::shared_ptr<const GcHeader> header; // never null
  StackRoot root;
  // Of a root that is not interior: the object, and the name of its type; empty when it cannot be read.
  std::optional<Address> object;
  std::string type;
};

class RootReporter {
public:
  // `runtime`, which must have a target, and `stacks` must outlive this. No reads.
  RootReporter(Runtime& runtime, StackReporter& stacks);

  // Visits the roots of the frames of a thread, innermost frame first, until `visit` returns false. Null
  // slots are left out. A root at whose value no object can be is marked uncertain. Never throws for target
  // data: the answer says why the walk ended and what is not known. Cost: that of StackReporter::walk_frames
  // and StackRoots::add, and 1 read for each object.
  StackReporter::End walk(const RegisterContext& start, std::uint64_t os_id,
                          const std::function<bool(const RootRow&)>& visit);

  // Instructions whose methods are kept; when there are more, all are described anew. So are types.
  static constexpr std::size_t max_known_methods = 100'000, max_known_types = 100'000;

private:
  void name_object(RootRow& row);
  // Of frames that recur, such as those of a recursion, there is one answer.
  std::shared_ptr<const MethodAnswer> answer_of(const FrameRoots& frame);

  Runtime* runtime_;
  StackReporter* stacks_;
  StackRoots roots_;
  std::unordered_map<Address, std::string> types_;                           // by MethodTable
  std::unordered_map<Address, std::shared_ptr<const MethodAnswer>> answers_; // by instruction
};

// The place of a root: "rbx", "[rbp-0x70]".
std::string place_of(const RootRow& row);
// Its words: "interior", "pinned", "untracked", "uncertain".
std::vector<std::string_view> words_of(const RootRow& row);

} // namespace clr
