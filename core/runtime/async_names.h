// The methods of state machines, and the lines of their awaits.
#pragma once

#include "core/runtime/runtime.h"
#include "core/waits/async_objects.h"

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
  // The same with the line of its await number `state`; without a line for a negative one.
  std::shared_ptr<const AwaitPosition> position(const MachineShape& shape, std::int32_t state);
  // The machine of the method in the box `object`; null when it is no box, or is at rest. Throws Error.
  const MachineShape* machine_in(AsyncObjects& kinds, Address object) const;

  Runtime& runtime() { return *runtime_; }

private:
  AwaitPosition read_position(const MachineShape& shape, std::int32_t state);

  Runtime* runtime_;
  std::map<std::pair<Address, std::int32_t>, std::shared_ptr<const AwaitPosition>> positions_;
  std::map<Address, std::shared_ptr<const Method>> methods_; // by the type of the machine
};

} // namespace clr
