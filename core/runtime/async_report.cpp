#include "core/runtime/async_report.h"

#include "core/objects/object_reader.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/source_lines.h"
#include "core/stack/exceptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace clr {
namespace {

bool of_framework(const TypeName& type) {
  if (!framework_type_name(type).empty()) return true;
  const TypeName* definition = &type;
  if (type.shape == TypeShape::instance && type.element) definition = type.element.get();
  return definition->assembly.starts_with("Microsoft.AspNetCore.") ||
         definition->assembly.starts_with("Microsoft.Extensions.");
}

} // namespace

std::string_view to_string(AsyncChain::End end) {
  switch (end) {
  case AsyncChain::End::nobody:
    return "nobody";
  case AsyncChain::End::async_void:
    return "async_void";
  case AsyncChain::End::thread:
    return "thread";
  case AsyncChain::End::loops:
    return "loop";
  case AsyncChain::End::limit:
    return "limit";
  }
  return "nobody";
}

std::string text_of(const AwaitPosition& position) {
  return position.method->shown_name() + source_position(position.source) +
         (position.dispose ? " (its implicit DisposeAsync)" : "");
}

std::shared_ptr<const Method> AsyncReporter::method_of(const MachineShape& shape) {
  auto& kept = methods_[&shape];
  if (kept) return kept;
  Runtime& runtime = objects_->runtime();
  Method method;
  try {
    const Target& target = *runtime.target();
    MethodNames& names = *runtime.names();
    const RuntimeType& type = names.types().type(shape.method_table);
    const MethodDescs descs(target);
    Address found = 0;
    descs.for_each(names.types().tables().method_chunks(type.table), [&](const MethodDesc& candidate) {
      if (candidate.token() == shape.move_next && (found == 0 || !candidate.is_unboxing_stub()))
        found = candidate.address;
      return true;
    });
    if (found == 0) throw Error(ErrorKind::corrupt, "the method of the state machine is not there");
    method = type.table.canonical != shape.method_table ? names.describe_in(found, shape.method_table)
                                                        : names.describe(found);
    names.add_user_method(method);
  } catch (const Error& error) {
    method = Method();
    method.degraded = error.what();
    method.name = method.full_name = fmt::format("<state machine of type {:#x}>", shape.method_table);
  }
  return kept = std::make_shared<const Method>(std::move(method));
}

AwaitPosition AsyncReporter::read_position(const MachineShape& shape, std::int32_t state) {
  Runtime& runtime = objects_->runtime();
  AwaitPosition position{.method = method_of(shape)};
  try {
    position.framework = of_framework(*runtime.objects()->layouts().of(shape.method_table).name);
  } catch (const Error&) {
    // A method that has no name is the user's, who wants to see it.
  }
  const Method& method = *position.method;
  if (method.token == 0 || state < 0) return position;
  SourceLines& lines = *runtime.lines();
  const PortablePdb* const pdb = lines.pdb_of(method.runtime_module);
  try {
    const auto await = shape.awaits.find(state);
    if (await == shape.awaits.end()) {
      const auto async = pdb != nullptr ? pdb->async_method(method.token) : std::nullopt;
      if (async && static_cast<std::size_t>(state) < async->awaits.size())
        position.source = lines.of_il(method, async->awaits[static_cast<std::size_t>(state)].yield_offset);
      return position;
    }
    const AwaitSite& site = await->second.site;
    if (pdb != nullptr && site.dispose_call && site.dispose_store) {
      // The call that the compiler added has no source text of its own.
      const SequencePoint* last = nullptr;
      const auto points = pdb->sequence_points(method.token);
      for (const SequencePoint& point : points)
        if (point.il_offset <= *site.dispose_call) last = &point;
      position.dispose = last != nullptr && last->hidden;
    }
    position.source = lines.of_il(method, position.dispose ? *site.dispose_store : site.yield_offset);
  } catch (const Error&) {
    // A damaged PDB costs the line.
  }
  return position;
}

std::shared_ptr<const AwaitPosition> AsyncReporter::position(const MachineShape& shape, std::int32_t state) {
  auto& kept = positions_[{&shape, state}];
  if (!kept) kept = std::make_shared<const AwaitPosition>(read_position(shape, state));
  return kept;
}

AsyncStack AsyncReporter::stack_of(const AsyncChain& chain, AwaitedReader& awaited) {
  AsyncStack stack;
  stack.frames.reserve(chain.boxes.size());
  for (const AsyncBox* const box : chain.boxes)
    stack.frames.push_back({position(*box->shape, box->state), box->state, box->object});
  stack.boxes = {chain.boxes.front()->object};
  stack.end = chain.end;
  stack.blocker = chain.blocker;
  stack.no_beginning = chain.no_beginning;
  stack.plumbing =
      std::ranges::all_of(stack.frames, [](const AsyncFrame& f) { return f.position->framework; });
  if (chain.no_beginning)
    stack.waits_for = {AwaitedKind::task, "async methods that wait for each other", 0};
  else
    stack.waits_for = awaited.of(*chain.boxes.front());
  return stack;
}

AsyncReport AsyncReporter::stacks(const AsyncQuery& query, const HeapWalkOptions& options) {
  AsyncGraph& graph = objects_->async(options);
  AsyncChains chains = async_chains(graph);
  AwaitedReader awaited(graph);
  const NameFilter filter(query.glob);
  AsyncReport report{.chains = chains.chains.size(),
                     .boxes = graph.boxes().size(),
                     .unreadable = graph.unreadable(),
                     .left_out = chains.left_out || objects_->found().left_out,
                     .interrupted = objects_->found().interrupted};
  // Equal chains have the same awaits, wait for the same kind of thing, and end in the same way.
  std::unordered_map<std::string, std::size_t> known;
  for (const AsyncChain& chain : chains.chains) {
    AsyncStack stack = stack_of(chain, awaited);
    report.plumbing += stack.plumbing ? 1 : 0;
    if (!filter.everything() && std::ranges::none_of(stack.frames, [&](const AsyncFrame& frame) {
          const Method& method = *frame.position->method;
          return filter.accepts(method) || filter.accepts(method.shown_name());
        }))
      continue;
    if (query.waiting_on && stack.waits_for.object != *query.waiting_on &&
        std::ranges::find(stack.frames, *query.waiting_on, &AsyncFrame::box) == stack.frames.end())
      continue;
    if (query.tops) stack.frames.erase(stack.frames.begin(), std::prev(stack.frames.end()));
    if (!query.each) {
      std::string key = query.tops ? std::string() : stack.waits_for.text;
      key += static_cast<char>(stack.end);
      key += static_cast<char>(stack.waits_for.kind);
      if (query.tops) key.pop_back();
      for (const AsyncFrame& frame : stack.frames)
        key.append(fmt::format(",{}", static_cast<const void*>(frame.position.get())));
      const auto [entry, added] = known.try_emplace(std::move(key), report.stacks.size());
      if (!added) {
        AsyncStack& first = report.stacks[entry->second];
        first.boxes.push_back(stack.boxes.front());
        if (first.waits_for.object != stack.waits_for.object) first.waits_for.object = 0;
        if (query.tops && first.waits_for.text != stack.waits_for.text)
          first.waits_for = {AwaitedKind::unknown, "several things", 0};
        continue;
      }
    }
    report.stacks.push_back(std::move(stack));
  }
  std::ranges::stable_sort(report.stacks, [](const AsyncStack& a, const AsyncStack& b) {
    if (a.plumbing != b.plumbing) return b.plumbing;
    return a.count() > b.count();
  });
  return report;
}

std::vector<FaultedTask> AsyncReporter::faulted(const AsyncQuery& query, const HeapWalkOptions& options) {
  AsyncGraph& graph = objects_->async(options);
  AsyncObjects& kinds = graph.kinds();
  const NameFilter filter(query.glob);
  const ExceptionReader exceptions(*objects_->runtime().target(), [&](Address table) {
    return objects_->runtime().names()->type_name(table);
  });
  std::vector<FaultedTask> tasks;
  for (const Address task : graph.faulted()) {
    FaultedTask row{.task = task};
    try {
      row.type = kinds.objects().layouts().of(kinds.table_of(task)).text;
      if (const BoxShape* const box = kinds.shapes().box(kinds.table_of(task))) {
        Address table = box->machine_table;
        if (table == 0)
          if (const Address machine = kinds.target().read_pointer(task + box->machine))
            table = kinds.table_of(machine);
        if (table != 0) row.method = method_of(kinds.shapes().machine(table));
      }
      if (!filter.everything() &&
          !(row.method && (filter.accepts(*row.method) || filter.accepts(row.method->shown_name()))))
        continue;
      const TaskFailure failure = kinds.failure(task);
      row.observed = failure.observed;
      row.exception = failure.exception;
      if (row.exception != 0) {
        const ManagedException exception = exceptions.read(row.exception);
        row.exception_type = exception.type.value_or(std::string());
        row.message = exception.message.value_or(std::string());
      }
    } catch (const Error& error) {
      row.fault = error.what();
    }
    tasks.push_back(std::move(row));
  }
  std::ranges::stable_sort(tasks, {}, &FaultedTask::observed);
  return tasks;
}

} // namespace clr
