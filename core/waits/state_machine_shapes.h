// The types of state machines of async methods, and of the boxes that they live in: where their parts lie.
// A builder of one's own ([AsyncMethodBuilder]) has no box: the object that goes on is the machine itself, or
// one of a type of one's own that holds it.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Runtime/CompilerServices
// (AsyncTaskMethodBuilderT.cs, PoolingAsyncValueTaskMethodBuilderT.cs, AsyncIteratorMethodBuilder.cs).
#pragma once

#include "core/objects/object_reader.h"
#include "core/waits/state_machine_code.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr {

struct MachineAwait {
  AwaitSite site;
  // Where the reference to what is awaited lies, from the machine's first field; nothing: the awaiter holds
  // none.
  std::optional<std::uint32_t> awaited;
  SharedText awaiter_type; // "System.Runtime.CompilerServices.TaskAwaiter"; "" when it is not known
  bool boxed = false;      // the reference is one to the awaiter itself, as of `dynamic`
};

// A type of state machines. Offsets count from the machine's first field.
struct MachineShape {
  Address method_table = 0;
  Address module = 0;          // 0: not known
  std::uint32_t move_next = 0; // MethodDef; 0: not found
  bool value_type = false;
  bool is_void = false; // of an async void method
  bool fsharp = false;  // of F#'s tasks, whose awaits are numbered from 1 on
  std::optional<std::uint32_t> state;
  // Of F#'s tasks: the reference to the object that says where an interpreted one is, as those of a Debug
  // build are. It is null in others.
  std::optional<std::uint32_t> interpreter;
  // Of an async iterator: the references to who waits for its next value.
  std::optional<std::uint32_t> consumer_state, consumer;
  // The builder's reference to the box. A box that is used again and again is at rest when it is null.
  std::optional<std::uint32_t> builder_box;
  // The references in a builder that is not the framework's own: to what others wait for. A builder that is
  // an object is the only one.
  std::vector<std::uint32_t> builder_parts;
  bool builder_is_object = false;
  // Of a worker of Parallel.ForEachAsync: the reference to the TaskCompletionSource of all of them.
  std::optional<std::uint32_t> work;
  std::map<std::int32_t, MachineAwait> awaits; // by state
  std::string problem;                         // why `awaits` is empty
};

// A type of boxes: objects that a state machine lives in while its method waits. Offsets count from the
// object's address.
struct BoxShape {
  std::uint32_t machine = 0; // of the machine, or of the reference to it
  Address machine_table = 0; // 0: a reference, to an object of a type of its own
  // Of a box that is used again and again, and is no task: the references to who waits for it.
  std::optional<std::uint32_t> consumer_state, consumer;
  bool is_machine = false; // the object is the machine itself, or a copy of it
};

class MachineShapes {
public:
  // `objects` must outlive this. No reads.
  explicit MachineShapes(ObjectReader& objects) : objects_(&objects) {}

  // The shape of a type of state machines. Kept; valid as long as this. Never throws: what cannot be read is
  // missing. Cost cold: that of TypeLayouts::of for it and its awaiters, and that of await_sites.
  const MachineShape& machine(Address method_table);
  // The shape of a type of boxes; null for a type that is none. Kept. Never throws.
  const BoxShape* box(Address method_table);
  // Where the reference to what is awaited lies in an awaiter that is an object, from the object's address;
  // nothing when it holds none, or when the type is a class. Kept. Never throws.
  std::optional<std::uint32_t> awaited_by(Address method_table);

  static constexpr unsigned max_awaiter_depth = 4;          // structures within each other in an awaiter
  static constexpr unsigned max_awaiter_structures = 1'000; // all that are looked into for one awaiter
  static constexpr std::size_t max_builder_parts = 16;      // references in a builder that are looked at
  // Of all types together, which may share their methods and these their code: awaits that are kept, bytes of
  // IL that are searched for them, and methods that are searched for MoveNext. An honest machine has one
  // method of some hundred bytes, and a few awaits.
  static constexpr std::size_t max_all_awaits = 1'000'000;
  static constexpr std::size_t max_all_il = 64 * 1024 * 1024;
  static constexpr std::size_t max_all_methods = 4'000'000;

private:
  struct Place {
    const FieldLayout* field = nullptr;
    std::uint32_t offset = 0; // from the first field
  };
  MachineShape read_machine(Address method_table);
  std::optional<BoxShape> read_box(Address method_table);
  // A type of the user's own: a machine, or what holds one.
  std::optional<BoxShape> read_own_box(Address method_table);
  bool is_machine(Address method_table);
  void read_builder(MachineShape& shape, const Place& place);
  void add_builder_parts(MachineShape& shape, Address structure, std::uint32_t base, unsigned depth,
                         unsigned& left);
  void read_code(MachineShape& shape, const TypeLayout& layout);
  std::uint32_t find_move_next(Address module, std::uint32_t type_def);
  using Sites = std::map<std::int32_t, AwaitSite>;
  const Sites& sites_of(Address module, std::uint32_t move_next);
  // What is known of a field that keeps an awaiter, without the site.
  MachineAwait awaiter_in(const FieldLayout& field);
  // As reference_in, from the first field of a structure. Kept.
  std::optional<std::uint32_t> reference_of(const TypeUsePtr& structure);
  std::optional<Place> find(Address method_table, std::string_view name);
  // The reference within a field that leads to what is awaited.
  std::optional<std::uint32_t> reference_in(const FieldLayout& field, unsigned depth, unsigned& left);
  // The two references of the ManualResetValueTaskSourceCore in the field `name`.
  void read_consumer(Address method_table, std::string_view name, std::uint32_t base,
                     std::optional<std::uint32_t>& state, std::optional<std::uint32_t>& action);

  ObjectReader* objects_;
  std::unordered_map<Address, std::unique_ptr<MachineShape>> machines_;
  std::unordered_map<Address, std::optional<BoxShape>> boxes_;
  std::unordered_map<Address, std::optional<std::uint32_t>> awaiters_, structures_;
  // Instances of a generic type have the same method: by module and TypeDef, and by module and MoveNext.
  std::map<std::pair<Address, std::uint32_t>, std::uint32_t> move_nexts_;
  std::map<std::pair<Address, std::uint32_t>, Sites> sites_;
  std::unordered_map<TypeNamePtr, SharedText> type_texts_;
  std::size_t awaits_left_ = max_all_awaits, il_left_ = max_all_il, methods_left_ = max_all_methods;
};

} // namespace clr
