#include "core/objects/state_machine.h"

#include <array>

namespace clr {

namespace {
// C# and Visual Basic.
constexpr std::array state_names{"<>1__state", "$State"};
constexpr std::array builder_names{"<>t__builder", "$Builder"};
constexpr const char* iterator_promise = "<>v__promiseOfValueOrEnd";
constexpr unsigned max_nested_builders = 3;
constexpr unsigned max_builder_fields = 64; // structures of one builder that are looked into
// Task.m_stateFlags: ran to completion, canceled, faulted.
constexpr std::uint32_t task_done = 0x1600000;
} // namespace

// While the garbage collector runs it keeps marks in the low bits.
Address StateMachines::table_of(Address object) {
  const Address mask =
      target_->find_global("ObjectToMethodTableUnmask").value_or(target_->pointer_size() - 1);
  return target_->read_pointer(object) & ~mask;
}

std::optional<StateMachines::Field> StateMachines::field(Address table, std::string_view name) {
  for (unsigned depth = 0; table != 0 && depth < TypeLayouts::max_base_types; ++depth) {
    const TypeLayout& layout = layouts_->of(table);
    if (const FieldLayout* const found = layout.field(name); found != nullptr) {
      const std::uint32_t header = layout.table.is_value_type() ? 0 : target_->pointer_size();
      return Field{found, header + found->offset};
    }
    table = layout.table.parent;
  }
  return std::nullopt;
}

Address StateMachines::reference(Address object, std::string_view name) {
  const auto found = field(table_of(object), name);
  return found && found->layout->type->is_reference() ? target_->read_pointer(object + found->offset) : 0;
}

// Builders are values, some of which wrap another one.
std::optional<std::uint32_t> StateMachines::task_field(Address table, unsigned depth, unsigned& fields) {
  if (table == 0 || depth > max_nested_builders) return std::nullopt;
  const TypeLayout& layout = layouts_->of(table);
  if (const FieldLayout* const task = layout.field("m_task"); task != nullptr) return task->offset;
  for (const FieldLayout& inner : layout.fields) {
    if (inner.is_static || inner.type->kind != TypeUse::Kind::value) continue;
    if (++fields > max_builder_fields) return std::nullopt;
    if (const auto offset = task_field(inner.type->method_table, depth + 1, fields))
      return inner.offset + *offset;
  }
  return std::nullopt;
}

std::optional<StateMachine> StateMachines::read(Address table, Address self) {
  if (table == 0 || self == 0) return std::nullopt;
  for (std::size_t i = 0; i < state_names.size(); ++i) {
    const auto state = field(table, state_names[i]);
    const auto builder = field(table, builder_names[i]);
    if (!state || !builder) continue;
    StateMachine machine{.table = table, .self = self};
    machine.state = static_cast<std::int32_t>(target_->read_u32(self + state->offset));
    unsigned fields = 0;
    if (const auto task = task_field(builder->layout->type->method_table, 0, fields))
      machine.task = target_->read_pointer(self + builder->offset + *task);
    machine.object = layouts_->of(table).table.is_value_type() ? machine.task : self;
    return machine;
  }
  return std::nullopt;
}

bool StateMachines::is_done(const StateMachine& machine) {
  if (machine.task == 0 || field(machine.table, iterator_promise)) return true;
  const auto flags = field(table_of(machine.task), "m_stateFlags");
  return !flags || (target_->read_u32(machine.task + flags->offset) & task_done) != 0;
}

Address StateMachines::task_number(const StateMachine& machine) {
  if (machine.task == 0) return 0;
  const auto number = field(table_of(machine.task), "m_taskId");
  return number ? machine.task + number->offset : 0;
}

// A box of the builder's, or of a builder that uses its boxes again.
std::optional<StateMachine> StateMachines::machine_in(Address object) {
  const auto held = field(table_of(object), "StateMachine");
  if (!held) return std::nullopt;
  const Address at = object + held->offset;
  if (!held->layout->type->is_reference()) return read(held->layout->type->method_table, at);
  const Address self = target_->read_pointer(at);
  return self != 0 ? read(table_of(self), self) : std::nullopt;
}

std::optional<StateMachine> StateMachines::follow(Address object, unsigned& links) {
  if (object == 0 || links == 0) return std::nullopt;
  --links;
  if (auto machine = machine_in(object)) return machine;
  // A continuation on a context or scheduler; a delegate; one that wraps another; a task that waits for
  // others.
  for (const char* const name : {"m_action", "_target", "_continuation", "m_continuationObject"}) {
    const Address next = reference(object, name);
    if (next == 0 || next == object) continue;
    if (auto machine = follow(next, links)) return machine;
  }
  // Several continuations: List<object>.
  if (const Address items = reference(object, "_items"); items != 0) {
    if (target_->read_u32(target_->field_address(items, "Array", "m_NumComponents")) != 0)
      return follow(target_->read_pointer(items + target_->size_of("Array")), links);
  }
  return std::nullopt;
}

std::optional<StateMachine> StateMachines::continuation(const StateMachine& machine) {
  unsigned links = max_links;
  // Who awaits the next value of an async iterator is known to the machine itself.
  if (const auto promise = field(machine.table, iterator_promise)) {
    const auto waiting = field(promise->layout->type->method_table, "_continuationState");
    return waiting ? follow(target_->read_pointer(machine.self + promise->offset + waiting->offset), links)
                   : std::nullopt;
  }
  return machine.task != 0 ? follow(reference(machine.task, "m_continuationObject"), links) : std::nullopt;
}

} // namespace clr
