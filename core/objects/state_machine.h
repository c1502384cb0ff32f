// State machines of async methods and async iterators: which of them is meant, and which one continues behind
// it. Fields are found by their names. Source: dotnet/runtime
// src/libraries/System.Private.CoreLib/src/System/Runtime/CompilerServices/AsyncTaskMethodBuilderT.cs,
// Threading/Tasks/{Task,TaskContinuation}.cs.
#pragma once

#include "core/objects/type_layout.h"

#include <cstdint>
#include <optional>

namespace clr {

struct StateMachine {
  Address table = 0; // its MethodTable
  // What MoveNext gets: the object, or where the value lies (on the stack at first, later in a box).
  Address self = 0;
  Address task = 0; // the task or box that its builder has; 0: none yet
  // The object by which it is known as long as no garbage collection comes: itself, or the box that a value
  // lives in. 0: a value that has no box yet.
  Address object = 0;
  std::int32_t state = 0; // >= 0: it waits at the await of this number
};

class StateMachines {
public:
  // Both must outlive this. No reads.
  StateMachines(const Target& target, TypeLayouts& layouts) : target_(&target), layouts_(&layouts) {}

  // The machine of type `table` at `self`. Nothing for a type that is none. Throws Error. Cost: that of
  // TypeLayouts::of for it and its builder, 2 reads.
  std::optional<StateMachine> read(Address table, Address self);
  // The one that goes on when `machine` is done, or when an async iterator has its next value: the first of
  // several. Nothing when nobody waits for it, or in a way that is not known. Throws Error. Cost: some 4
  // reads for each object that is looked at, at most max_links.
  std::optional<StateMachine> continuation(const StateMachine& machine);
  // The task of `machine` is done, or it has none; of an async iterator, which may only have its next value,
  // it is not asked. Throws Error.
  bool is_done(const StateMachine& machine);
  // Where the number of its task lies (Task.Id), which goes with the task wherever it is moved to: 32 bits, 0
  // until somebody asks for it; the runtime sets it by one exchange of 0 for a number, and never again. 0:
  // its builder has no task, as those that use their boxes again, or has none yet. Throws Error. Cost: 1
  // read, and TypeLayouts::of for the task.
  Address task_number(const StateMachine& machine);

  static constexpr unsigned max_links = 64;

private:
  struct Field {
    const FieldLayout* layout = nullptr;
    std::uint32_t offset = 0; // from the object's or value's first byte
  };
  Address table_of(Address object);
  std::optional<Field> field(Address table, std::string_view name);
  // Of an object; 0 when it has no such field.
  Address reference(Address object, std::string_view name);
  std::optional<std::uint32_t> task_field(Address table, unsigned depth, unsigned& fields);
  std::optional<StateMachine> machine_in(Address object);
  // Looks at no more than `links` objects, and leaves in it how many are left.
  std::optional<StateMachine> follow(Address object, unsigned& links);

  const Target* target_;
  TypeLayouts* layouts_;
};

} // namespace clr
