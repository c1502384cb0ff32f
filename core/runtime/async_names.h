// The methods of state machines, and the lines of their awaits.
#pragma once

#include "core/runtime/runtime.h"
#include "core/waits/async_graph.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
  // it waits at none. Of a method that the runtime suspends the awaits are counted as its body has them; an
  // optimised body whose awaits are not in the order of the source has no line. Cost: that of method_of, and
  // for such a body that of DebugInfoReader::il_map.
  std::shared_ptr<const AwaitPosition> position(const AsyncBox& box);
  // The machine of the method in the box `object`; null when it is no box, or is at rest. Throws Error.
  const MachineShape* machine_in(AsyncObjects& kinds, Address object) const;

  Runtime& runtime() { return *runtime_; }

private:
  AwaitPosition read_position(const MachineShape& shape, std::int32_t state);
  AwaitPosition read_resumed(const ResumePoint& point, std::int32_t state);
  void find_line(AwaitPosition& position, const ResumePoint& point, std::int32_t state);

  Runtime* runtime_;
  std::map<std::pair<Address, std::int32_t>, std::shared_ptr<const AwaitPosition>> positions_;
  std::map<std::pair<const ResumePoint*, std::int32_t>, std::shared_ptr<const AwaitPosition>> resumed_;
  std::map<Address, std::shared_ptr<const Method>> methods_; // by the type of the machine
};

} // namespace clr
