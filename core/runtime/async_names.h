// The methods of state machines, and the lines of their awaits.
#pragma once

#include "core/runtime/runtime.h"
#include "core/waits/async_graph.h"
#include "core/waits/await_lines.h"
#include "core/waits/method_il.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr {

// An await of a method.
struct AwaitPosition {
  std::shared_ptr<const Method> method; // never null
  std::optional<SourceLine> source;     // of the await; nothing: it is not known where the method waits
  // The await is the one that the end of an `await using` or `await foreach` implies; the line is that of the
  // declaration.
  bool dispose = false;
  bool framework = false; // the method is of .NET's own libraries
  std::string no_line;    // why there is no line although there are symbols; "" when that is not the reason
};

// "WaitsProgram.Simple.Delay() [async] at Simple.cs:41:9".
std::string text_of(const AwaitPosition& position);

class AsyncNames {
public:
  // `runtime` must have a target, and outlive this. No reads.
  explicit AsyncNames(Runtime& runtime) : runtime_(&runtime) {}

  // The method of a state machine, as an instance of its type. Never null. Kept. Never throws. Cost: the
  // methods of the type, and the name.
  std::shared_ptr<const Method> method_of(const MachineShape& shape);
  // The method of a box or continuation, with the line of the await at which it stands; without a line when
  // it waits at none. Of a method that the runtime suspends the awaits are those that the code of its body
  // numbers; where that cannot be read they are counted as its body has them, and an optimised body whose
  // awaits are not in the order of the source has no line. Cost: that of method_of; for each method the
  // decoding of its IL and points, and for such a body that of DebugInfoReader::il_map and 1 read of its
  // code.
  std::shared_ptr<const AwaitPosition> position(const AsyncBox& box);
  // The same of a continuation, without a line: for a method that a thread runs.
  std::shared_ptr<const AwaitPosition> running(const AsyncBox& box);
  // The machine of the method in the box `object`; null when it is no box, or is at rest. Throws Error.
  const MachineShape* machine_in(AsyncObjects& kinds, Address object) const;

  Runtime& runtime() { return *runtime_; }

  // Bytes of what is kept of the code, points and debug info of methods until it is read again; of what is
  // read of all of them, also again, and beyond which awaits have no line and say so; and points,
  // instructions and calls that are compared for it. A method has some ten thousand bytes of these, and is
  // asked for once for each of its awaits.
  static constexpr std::size_t max_kept_code = 64 * 1024 * 1024;
  static constexpr std::size_t max_read_code = 1024 * 1024 * 1024;
  static constexpr std::size_t max_compared = 200'000'000;
  static constexpr std::size_t max_machine_methods = 4'000'000; // methods of all types of state machines

private:
  AwaitPosition read_position(const MachineShape& shape, std::int32_t state);
  AwaitPosition read_resumed(const AsyncBox& box);
  void line_by_place(AwaitPosition& position, const CodeBlock& block);
  void find_line(AwaitPosition& position, const AsyncBox& box);
  // The IL that the call belongs to behind which a body gives a continuation its number.
  struct StateStretch {
    std::int32_t state = 0;
    std::uint32_t begin = 0, end = UINT32_MAX; // IL offsets
    bool certain = false;                      // its code has IL itself
    bool has(std::uint32_t il) const { return il >= begin && il < end; }
  };
  std::vector<StateStretch> state_stretches(const CodeBlock& block, Address place);
  // The awaits of a stretch, when they share one line.
  struct StretchLine {
    bool known = false;                    // false: they do not, or one has no line
    std::optional<AwaitPosition> position; // nothing: there is no await
  };
  // Of a body, as the continuations of one type see it.
  struct BodyStates {
    std::vector<StateStretch> stretches;
    std::unordered_map<std::int32_t, std::vector<std::size_t>> by_state;  // indexes of stretches
    bool counted = false;                                                 // the numbers count the awaits
    std::map<std::pair<std::uint32_t, std::uint32_t>, StretchLine> lines; // by beginnings and ends
  };
  BodyStates& states_of(const AsyncBox& box, const CodeBlock& block, const std::vector<AwaitCall>& calls);
  StretchLine read_stretch(const StateStretch& stretch, const AwaitPosition& position,
                           const std::vector<AwaitCall>& calls);
  bool line_by_code(AwaitPosition& position, const AsyncBox& box, const CodeBlock& block,
                    const std::vector<AwaitCall>& calls);
  void take_line(AwaitPosition& position, const AwaitCall& call);

  // What is kept of a method for the lines of its awaits.
  struct MethodLines {
    std::optional<AwaitArms> arms;
    std::optional<std::vector<AwaitCall>> calls;
    std::optional<std::optional<AsyncMethod>> async; // of the PDB
  };
  MethodLines& lines_of(const Method& method) { return lines_[{method.runtime_module, method.token}]; }
  // These throw Error, also beyond max_read_code.
  AwaitArms& arms_of(const Method& method, const PortablePdb& pdb);
  const std::vector<AwaitCall>& calls_of(const Method& method);
  bool has_order(const std::vector<AwaitCall>& calls, const CodeBlock& block);
  // Counts bytes that are read and kept. Throws Error beyond max_read_code, also for none.
  void charge(std::size_t bytes);
  // Counts what is compared. Throws Error beyond max_compared.
  void compare(std::size_t steps);
  // Drops what is kept, when it is too much. References to it are not valid any more.
  void make_room();

  Runtime* runtime_;
  std::map<std::pair<Address, std::int32_t>, std::shared_ptr<const AwaitPosition>> positions_;
  std::map<std::pair<const ResumePoint*, std::int32_t>, std::shared_ptr<const AwaitPosition>> resumed_;
  std::map<Address, std::shared_ptr<const Method>> methods_; // by the type of the machine
  std::map<std::pair<Address, std::uint32_t>, MethodLines> lines_;
  std::map<std::pair<Address, Address>, BodyStates> bodies_; // by their starts, and the place of the number
  std::unordered_map<Address, bool> orders_;                 // whether the awaits of a body have their order
  std::size_t kept_ = 0, read_left_ = max_read_code, compared_left_ = max_compared,
              methods_left_ = max_machine_methods;
};

} // namespace clr
