#include "core/waits/async_objects.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {

constexpr std::array blocker_names{"System.Threading.Tasks.Task+SetOnInvokeMres",
                                   "System.Threading.Tasks.Task+SetOnCountdownMres"};
// What Task.WhenEach puts behind each of its tasks.
constexpr std::string_view each_state = "System.Threading.Tasks.Task+WhenEachState";
// AsyncHelpers+ThunkTask of .NET 10, AsyncHelpers+RuntimeAsyncTask later.
constexpr std::string_view suspended_task = "System.Runtime.CompilerServices.AsyncHelpers+";
constexpr std::string_view source_core = "System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore";
// Fields by which the framework's tasks keep what they wait for.
constexpr std::array inner_names{"_task", "_source", "m_antecedent", "_task1", "_task2"};
constexpr std::array inner_list_names{"m_tasks", "_tasks"};
// Types of captured variables: of C#, and of Visual Basic.
constexpr std::array closure_names{"c__DisplayClass", "_Closure$__"};
constexpr std::string_view machine_interface = "System.Runtime.CompilerServices.IAsyncStateMachine";

} // namespace

const TypeLineage& AsyncObjects::lineage(Address object) {
  return lineages_->of(table_of(object));
}

AsyncKind AsyncObjects::kind(Address object) {
  return type(table_of(object)).kind;
}

std::optional<std::uint32_t> AsyncObjects::offset(Address table, std::string_view name) {
  for (unsigned depth = 0; table != 0 && depth < TypeLayouts::max_base_types; ++depth) {
    const TypeLayout& layout = objects_->layouts().of(table);
    if (const FieldLayout* const found = layout.field(name)) return target().pointer_size() + found->offset;
    table = layout.table.parent;
  }
  return std::nullopt;
}

AsyncObjects::Type& AsyncObjects::type(Address table) {
  const auto known = types_.find(table);
  if (known != types_.end()) return known->second;
  return types_.emplace(table, read_type(table)).first->second;
}

AsyncObjects::Type AsyncObjects::read_type(Address table) {
  Type type;
  const TypeLineage& lineage = lineages_->of(table);
  if (!lineage.known) return type;
  const std::string& own = lineage.name;
  const auto as = [&](AsyncKind kind, std::string_view next) {
    type.kind = kind;
    type.next = offset(table, next);
  };
  type.user = own.empty();
  const bool task = lineage.derives_from("System.Threading.Tasks.Task");
  if (task && task_table_ == 0) task_table_ = table;
  if (own.find("StateMachineBox") != std::string::npos && shapes_.box(table) != nullptr) {
    type.kind = AsyncKind::box;
  } else if (task) {
    type.kind = AsyncKind::task;
    type.suspends = own.starts_with(suspended_task);
    // Only the framework's own tasks: a user's class may have a field of the same name.
    if (own.empty()) return type;
    for (const char* const name : inner_names)
      if (const auto place = offset(table, name)) type.inner.push_back(*place);
    for (const char* const name : inner_list_names)
      if (const auto place = offset(table, name)) type.inner_lists.push_back(*place);
  } else if (lineage.is("System.Collections.Generic.List`1")) {
    as(AsyncKind::list, "_items");
    type.list = offset(table, "_size");
  } else if (lineage.derives_from("System.Threading.Tasks.AwaitTaskContinuation")) {
    as(AsyncKind::await_task, "m_action");
  } else if (lineage.derives_from("System.Threading.Tasks.TaskContinuation")) {
    as(AsyncKind::continue_with, "m_task");
  } else if (lineage.derives_from("System.MulticastDelegate")) {
    as(AsyncKind::callback, "_target");
    // Where the callbacks of one that has several are; .NET 11 keeps other things there, too.
    type.list = offset(table, "_invocationList");
    if (!type.list) type.list = offset(table, "_helperObject");
  } else if (lineage.is("System.Runtime.CompilerServices.RuntimeAsyncTaskContinuation")) {
    as(AsyncKind::wrapper, "RuntimeAsyncTask"); // .NET 11: on the task that a suspended method waits for
  } else if (lineage.is("System.Runtime.CompilerServices.AsyncMethodBuilderCore+ContinuationWrapper")) {
    as(AsyncKind::wrapper, "_continuation");
  } else if (lineage.is(each_state)) {
    type.kind = AsyncKind::task; // what it does when it is called leads on: its consumer waits for the object
  } else if (std::ranges::find(blocker_names, own) != blocker_names.end()) {
    type.kind = AsyncKind::blocker;
  } else if (type.user) {
    if (lineage.of_machine && shapes_.box(table) != nullptr)
      type.kind = AsyncKind::box;
    else
      read_own(type, table);
  }
  return type;
}

// The builder of an async method may give what is awaited a delegate of its own: with the machine among the
// variables that the delegate captured, or in an object that runs it.
void AsyncObjects::read_own(Type& type, Address table) {
  const TypeLayout& layout = objects_->layouts().of(table);
  const TypeName* name = layout.name.get();
  if (name->shape == TypeShape::instance && name->element) name = name->element.get();
  const bool closure = !name->chain.empty() && std::ranges::any_of(closure_names, [&](const char* part) {
    return name->chain.back().find(part) != std::string::npos;
  });
  for (const FieldLayout& field : layout.fields) {
    if (field.is_static || !field.type->is_reference() || type.inner.size() >= max_references) continue;
    if (closure || format_type(*field.type->name) == machine_interface)
      type.inner.push_back(target().pointer_size() + field.offset);
  }
  if (!type.inner.empty()) type.kind = AsyncKind::closure;
}

bool AsyncObjects::is_promise(Address object) {
  const Address table = table_of(object);
  return type(table).user || lineages_->of(table).derives_from("System.Threading.Tasks.Task");
}

std::vector<Address> AsyncObjects::references(Address object) {
  std::vector<Address> found;
  Address table = table_of(object);
  for (unsigned depth = 0; table != 0 && depth < TypeLayouts::max_base_types; ++depth) {
    const TypeLineage& lineage = lineages_->of(table);
    if (!lineage.known || !lineage.name.empty()) break;
    const TypeLayout& layout = objects_->layouts().of(table);
    for (const FieldLayout& field : layout.fields) {
      if (field.is_static || !field.type->is_reference() || found.size() >= max_references) continue;
      const Address value = target().read_pointer(object + target().pointer_size() + field.offset);
      if (value != 0) found.push_back(value);
    }
    table = layout.table.parent;
  }
  return found;
}

void AsyncObjects::need_task_fields() {
  if (task_fields_) return;
  const auto need = [&](std::string_view name) {
    if (const auto place = task_table_ != 0 ? offset(task_table_, name) : std::nullopt) return *place;
    const std::string why = task_table_ != 0 ? objects_->layouts().of(task_table_).problem : std::string();
    throw Error(ErrorKind::unsupported_contract, "System.Threading.Tasks.Task has no field " +
                                                     std::string(name) + " in this version" +
                                                     (why.empty() ? "" : ": " + why));
  };
  task_fields_ = TaskFields{need("m_stateFlags"), need("m_action"), need("m_continuationObject")};
}

TaskFlags AsyncObjects::flags(Address task) {
  if (!task_fields_) type(table_of(task));
  need_task_fields();
  return {target().read_u32(task + task_fields_->flags)};
}

Address AsyncObjects::action(Address task) {
  if (!task_fields_) type(table_of(task));
  need_task_fields();
  return target().read_pointer(task + task_fields_->action);
}

Address AsyncObjects::continuation(Address task) {
  if (!task_fields_) type(table_of(task));
  need_task_fields();
  return target().read_pointer(task + task_fields_->continuation);
}

bool AsyncObjects::is_source(Address object) {
  const Address table = table_of(object);
  Type& known = type(table);
  if (known.source) return *known.source;
  // The framework's own sources that have no core.
  constexpr std::array own{"System.Net.Sockets.SocketAsyncEventArgs", "System.IO.Pipelines.PipeReader",
                           "System.IO.Pipelines.PipeWriter"};
  const TypeLineage& lineage = lineages_->of(table);
  bool source = std::ranges::any_of(own, [&](const char* name) { return lineage.derives_from(name); });
  source = source || lineage.any_name([](const std::string& name) {
    return name.starts_with("System.Threading.Channels.") && name.find("AsyncOperation") != std::string::npos;
  });
  Address at = table;
  for (unsigned depth = 0; at != 0 && !source && depth < TypeLayouts::max_base_types; ++depth) {
    const TypeLayout& layout = objects_->layouts().of(at);
    source = std::ranges::any_of(layout.fields, [](const FieldLayout& field) {
      return !field.is_static && field.type->name && format_type(*field.type->name).starts_with(source_core);
    });
    at = layout.table.parent;
  }
  known.source = source;
  return source;
}

Address AsyncObjects::parent(Address task) {
  const Address properties = reference(task, "m_contingentProperties");
  return properties != 0 ? reference(properties, "m_parent") : 0;
}

TaskFailure AsyncObjects::failure(Address task) {
  TaskFailure failure;
  const Address properties = reference(task, "m_contingentProperties");
  const Address holder = properties != 0 ? reference(properties, "m_exceptionsHolder") : 0;
  if (holder == 0) return failure;
  failure.observed = integer(holder, "m_isHandled").value_or(0) != 0;
  const Address list = reference(holder, "m_faultExceptions");
  each_element(list != 0 ? reference(list, "_items") : 0, 1, [&](Address first) {
    const Address wrapped = reference(first, "_exception");
    failure.exception = wrapped != 0 ? wrapped : first;
  });
  return failure;
}

void AsyncObjects::each_element(Address array, std::uint64_t most,
                                const std::function<void(Address)>& visit) {
  if (array == 0) return;
  const std::uint64_t count = std::min<std::uint64_t>(
      target().read_u32(target().field_address(array, "Array", "m_NumComponents")), most);
  Address at = array + target().size_of("Array");
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, max_links) && links_left_ != 0; ++i) {
    --links_left_;
    if (const Address element = target().read_pointer(at)) visit(element);
    at += target().pointer_size();
  }
}

void AsyncObjects::targets(Address continuation, const VisitTarget& visit) {
  std::size_t links = max_links;
  follow(continuation, 0, links, visit);
}

void AsyncObjects::follow(Address object, unsigned depth, std::size_t& links, const VisitTarget& visit) {
  if (object == 0 || depth > max_depth || links == 0 || links_left_ == 0) return;
  --links;
  --links_left_;
  const Type& type = this->type(table_of(object));
  const auto next = [&] { return type.next ? target().read_pointer(object + *type.next) : 0; };
  const auto each = [&](Address element) { follow(element, depth + 1, links, visit); };
  switch (type.kind) {
  case AsyncKind::box:
  case AsyncKind::task:
  case AsyncKind::blocker:
    visit(object, type.kind);
    break;
  case AsyncKind::list:
    if (type.list) each_element(next(), target().read_u32(object + *type.list), each);
    break;
  case AsyncKind::callback: {
    const Address several = type.list ? target().read_pointer(object + *type.list) : 0;
    if (several != 0 && objects_->layouts().of(table_of(several)).kind == TypeLayout::Kind::array) {
      each_element(several, max_links, each);
      break;
    }
    [[fallthrough]];
  }
  case AsyncKind::await_task:
  case AsyncKind::continue_with:
  case AsyncKind::wrapper:
    each(next());
    break;
  case AsyncKind::closure:
    for (const std::uint32_t place : type.inner) {
      const Address held = target().read_pointer(object + place);
      if (held == 0) continue;
      // A task that a delegate captured is one that it may ask; only what it can run goes on by it.
      const AsyncKind kind = this->kind(held);
      if (kind == AsyncKind::box || kind == AsyncKind::callback || kind == AsyncKind::closure) each(held);
    }
    break;
  case AsyncKind::other:
    break;
  }
}

void AsyncObjects::inner(Address task, const std::function<void(Address)>& visit) {
  const Type& type = this->type(table_of(task));
  for (const std::uint32_t place : type.inner)
    if (const Address object = target().read_pointer(task + place)) visit(object);
  for (const std::uint32_t place : type.inner_lists)
    each_element(target().read_pointer(task + place), max_links, visit);
}

std::string AsyncObjects::callback(Address delegate) {
  std::string text = objects_->describe_object(delegate);
  // "{System.Action -> Ns.Type.Run()}".
  if (const auto arrow = text.find("-> "); arrow != std::string::npos && text.ends_with('}'))
    text = text.substr(arrow + 3, text.size() - arrow - 4);
  return text;
}

Address AsyncObjects::reference(Address object, std::string_view name) {
  const auto place = offset(table_of(object), name);
  return place ? target().read_pointer(object + *place) : 0;
}

std::optional<std::int64_t> AsyncObjects::span(Address object, std::string_view name) {
  const auto place = offset(table_of(object), name);
  // A TimeSpan is one number.
  return place ? std::optional(static_cast<std::int64_t>(target().read_u64(object + *place))) : std::nullopt;
}

std::optional<std::uint64_t> AsyncObjects::integer(Address object, std::string_view name) {
  InstanceReader reader(*objects_);
  const Instance instance = reader.of_object(object);
  if (!reader.find(instance, name)) return std::nullopt;
  return reader.integer(instance, name);
}

} // namespace clr
