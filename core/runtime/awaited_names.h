// What code calls the object that an async method waits for: the variable or field that leads to it.
#pragma once

#include "core/runtime/runtime.h"
#include "core/runtime/static_fields.h"
#include "core/waits/async_graph.h"

#include <functional>
#include <optional>
#include <string>

namespace clr {

struct AwaitedName {
  std::string text; // "Ns.Cache._gate", or "gate" for a variable of the method
  // Where the reference lies: in a field of the state machine, or in field `member` of the object that this
  // field leads to; in neither for a static field. Offsets count from the first field.
  std::optional<std::uint32_t> local, member;
};

class AwaitedNames {
public:
  // Both must outlive this. No reads.
  AwaitedNames(Runtime& runtime, AsyncGraph& graph) : runtime_(&runtime), graph_(&graph), statics_(runtime) {}

  // The name that the method in `box` has for `object`: one of its variables, of its object's fields, or of
  // the variables that it shares with a lambda. Nothing when it has none. Never throws. Cost: 1 read for each
  // field.
  std::optional<AwaitedName> of(const AsyncBox& box, Address object);
  // A static field that leads to `object`. Never throws. Cost: that of StaticFields::all the first time, and
  // 1 read for each.
  std::optional<AwaitedName> of_static(Address object, const std::function<bool()>& go_on);
  // Whether the method in `box` has `object` in the same place. Never throws. 2 reads.
  bool has(const AsyncBox& box, const AwaitedName& name, Address object);

private:
  // `value` is the object, or the TaskCompletionSource or end of a channel that has it.
  bool leads_to(Address value, Address object);
  std::optional<AwaitedName> in_object(Address holder, std::uint32_t local, Address object);

  Runtime* runtime_;
  AsyncGraph* graph_;
  StaticFields statics_;
};

// "gate" for "gate", "<gate>5__2" and "<gate>k__BackingField"; "" for a field that the compiler made for
// itself.
std::string source_name(const std::string& field);

} // namespace clr
