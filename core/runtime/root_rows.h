// The roots of stacks as rows: who holds which object.
#pragma once

#include "core/runtime/call_shapes.h"
#include "core/runtime/stack_reporter.h"
#include "core/stack/stack_roots.h"

#include <unordered_map>

namespace clr {

struct RootRow {
  std::uint64_t os_id = 0;                    // of the thread
  std::size_t frame = 0;                      // its index among all frames, as in `clrbt --json`
  Address ip = 0, sp = 0;                     // of a Frame of the runtime's 0 and its address
  std::string_view frame_type;                // of a Frame of the runtime's: "PrestubMethodFrame", "GCFrame"
  std::shared_ptr<const MethodAnswer> answer; // null for a Frame of the runtime's
  std::shared_ptr<const Method> method;       // that such a Frame names; null if none
  Cpu cpu = Cpu::unknown;
  std::shared_ptr<const GcHeader> header; // null for a Frame of the runtime's
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

  // Instructions whose methods are kept; when there are more, all are described anew. So are types, and
  // values that are no objects.
  static constexpr std::size_t max_known_methods = 100'000, max_known_types = 100'000;

private:
  void name_object(RootRow& row);
  // Looks at the object at `value`.
  std::string type_of(Address value);
  // Of frames that recur, such as those of a recursion, there is one answer.
  std::shared_ptr<const MethodAnswer> answer_of(const FrameRoots& frame);

  Runtime* runtime_;
  StackReporter* stacks_;
  MethodCallShapes shapes_;
  StackRoots roots_;
  std::unordered_map<Address, std::string> types_; // by MethodTable
  // Values at which no object was found, and why none can be there; empty: the target lacks memory.
  std::unordered_map<Address, std::string> no_objects_;
  std::unordered_map<Address, std::shared_ptr<const MethodAnswer>> answers_; // by instruction
};

// The frame that holds the root: "0x00007f0a11223344 app.dll`Ns.Type.Run() + 44", "0x00007ffc11223344
// [PrestubMethodFrame] app.dll`Ns.Type.Run()".
std::string frame_of(const RootRow& row);
// The same without the address: "app.dll`Ns.Type.Run() + 44", "[PrestubMethodFrame] app.dll`Ns.Type.Run()".
std::string holder_of(const RootRow& row);
// The place of a root: "rbx", "[rbp-0x70]"; of an argument that a Frame of the runtime's holds "argument", of
// a variable of native code "variable".
std::string place_of(const RootRow& row);
// Its words: "interior", "pinned", "untracked", "uncertain".
std::vector<std::string_view> words_of(const RootRow& row);

} // namespace clr
