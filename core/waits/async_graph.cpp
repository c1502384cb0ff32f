#include "core/waits/async_graph.h"

#include <algorithm>

namespace clr {
namespace {

enum Class : std::size_t { tasks, pooled, semaphores, channels };

std::span<const AsyncEdge> of(const std::vector<AsyncEdge>& edges, Address from) {
  const auto [first, last] = std::ranges::equal_range(edges, from, {}, &AsyncEdge::from);
  return {first, last};
}

void make_unique(std::vector<AsyncEdge>& edges) {
  std::ranges::sort(edges, [](const AsyncEdge& a, const AsyncEdge& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  const auto rest = std::ranges::unique(edges);
  edges.erase(rest.begin(), rest.end());
}

} // namespace

const MachineAwait* AsyncBox::await() const {
  const auto found = shape->awaits.find(state);
  return found == shape->awaits.end() ? nullptr : &found->second;
}

std::size_t AsyncGraph::want(HeapPass& pass) {
  const std::size_t first = pass.want(
      [](const TypeLineage& lineage) { return lineage.derives_from("System.Threading.Tasks.Task"); });
  pass.want([](const TypeLineage& lineage) {
    return lineage.is(
        "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1");
  });
  pass.want(
      [](const TypeLineage& lineage) { return lineage.derives_from("System.Threading.SemaphoreSlim"); });
  pass.want(
      [](const TypeLineage& lineage) { return lineage.derives_from("System.Threading.Channels.Channel`2"); });
  return first;
}

AsyncGraph::AsyncGraph(ObjectReader& objects, TypeLineages& lineages, const HeapPassResult& found,
                       std::size_t first)
    : kinds_(objects, lineages), continuations_(kinds_, objects.finder().names()) {
  continuation_shape_.problem =
      "what it waits for is among the variables of a method that the runtime suspended";
  const auto guarded = [&](const FoundObject& object, const auto& act) {
    try {
      act(object.address);
    } catch (const Error& error) {
      if (++unreadable_ == 1) first_fault_ = error.what();
    }
  };
  // Boxes first: edges lead to them.
  for (const std::size_t kind : {tasks, pooled})
    for (const FoundObject& object : found.found[first + kind]) {
      const BoxShape* const shape = kinds_.shapes().box(object.method_table);
      if (shape == nullptr) {
        guarded(object, [&](Address task) {
          if (kinds_.suspends(object.method_table) && !kinds_.flags(task).done()) add_suspended(task);
        });
        continue;
      }
      guarded(object, [&](Address box) {
        if (kind == tasks && kinds_.flags(box).done()) return;
        add_box(box, *shape);
      });
    }
  std::ranges::sort(boxes_, {}, &AsyncBox::object);
  std::ranges::sort(machines_);
  std::ranges::sort(suspended_, {}, &Suspended::task);
  // The task that callers wait for is done when the last one is.
  for (const Suspended& one : suspended_) links_.push_back({one.last, one.task});
  for (const AsyncEdge& link : links_) {
    up_.push_back(link);
    down_.push_back({link.to, link.from});
  }
  // A million tasks may share one list of a million continuations, so what all lead to has a limit of its
  // own.
  kinds_.bound_links(most_links(found.found[first + tasks].size() + found.found[first + pooled].size()));
  for (const FoundObject& object : found.found[first + tasks])
    guarded(object, [&](Address task) {
      const TaskFlags state = kinds_.flags(task);
      if (state.done()) {
        if (state.faulted()) faulted_.push_back(task);
        return;
      }
      kinds_.targets(kinds_.continuation(task), [&](Address waiter, AsyncKind kind) {
        if (kind == AsyncKind::blocker) blockers_.push_back(waiter);
        add_edge(task, waiter);
      });
      kinds_.inner(task, [&](Address awaited) { add_edge(awaited, task); });
      if (const Address parent = state.has_parent() ? kinds_.parent(task) : 0) add_edge(task, parent);
    });
  for (const AsyncBox& box : boxes_) {
    if (box.awaited != 0) add_edge(box.awaited, box.object);
    if (box.resume != nullptr) {
      if (box.resume->worker)
        guarded({box.object, 0}, [&](Address object) {
          if (const Address task = continuations_.end_of_workers(object)) add_edge(object, task);
        });
      continue;
    }
    guarded({box.object, 0}, [&](Address object) {
      const auto consumer = [&](Address at, const auto& shape) {
        const auto read = [&](const std::optional<std::uint32_t>& place) {
          return place ? kinds_.target().read_pointer(at + *place) : 0;
        };
        Address to = read(shape.consumer_state);
        if (to == 0) to = read(shape.consumer);
        kinds_.targets(to, [&](Address waiter, AsyncKind) { add_edge(object, waiter); });
      };
      if (box.shape->work)
        if (const Address work = kinds_.target().read_pointer(box.machine + *box.shape->work))
          if (const Address task = kinds_.reference(work, "_task")) add_edge(object, task);
      if (box.shape->consumer_state) consumer(box.machine, *box.shape);
      // A damaged object may be found by two types.
      const BoxShape* const shape = kinds_.shapes().box(kinds_.table_of(object));
      if (shape != nullptr && shape->consumer_state) consumer(object, *shape);
    });
  }
  left_out_ = left_out_ || kinds_.out_of_links();
  kinds_.bound_links(~std::size_t{0});
  make_unique(up_);
  make_unique(down_);
  std::ranges::sort(blockers_);
  semaphores_ = found.found[first + Class::semaphores];
  channels_ = found.found[first + Class::channels];
}

void AsyncGraph::add_box(Address object, const BoxShape& shape) {
  const Target& target = kinds_.target();
  AsyncBox box{.object = object};
  Address table = shape.machine_table;
  if (table != 0) {
    box.machine = object + shape.machine;
  } else {
    const Address machine = target.read_pointer(object + shape.machine);
    if (machine == 0) return; // at rest, to be used again
    table = kinds_.table_of(machine);
    box.machine = machine + target.pointer_size();
    machines_.emplace_back(machine, object);
  }
  box.shape = &kinds_.shapes().machine(table);
  if (!box.shape->state) return;
  box.state = target.read_i32(box.machine + *box.shape->state);
  if (box.shape->fsharp && box.state == 0) box.state = -1; // it has not waited yet
  box.waits = box.state >= 0;
  if (shape.consumer_state && box.state == 0) {
    // A box at rest is cleared, and so is its state. A live one has itself in its builder.
    const auto* const await = box.await();
    const auto sign = box.shape->builder_box ? box.shape->builder_box
                      : await != nullptr     ? await->awaited
                                             : std::nullopt;
    if (sign && target.read_pointer(box.machine + *sign) == 0) return;
  }
  if (const MachineAwait* const await = box.waits ? box.await() : nullptr) {
    box.awaiter_known = !await->site.awaiter.empty();
    if (await->awaited) box.awaited = target.read_pointer(box.machine + *await->awaited);
  }
  boxes_.push_back(box);
}

void AsyncGraph::add_suspended(Address task) {
  const SuspendedMethods found = continuations_.of(task);
  left_out_ = left_out_ || found.left_out;
  if (found.methods.empty()) return;
  for (const SuspendedMethod& method : found.methods) {
    AsyncBox box{.object = method.object, .shape = &continuation_shape_, .resume = method.resume};
    box.state = method.state;
    box.waits = true;
    if (&method == &found.methods.front())
      box.awaited = found.awaited;
    else
      links_.push_back({(&method)[-1].object, method.object});
    box.awaiter_known = box.awaited != 0;
    boxes_.push_back(box);
  }
  suspended_.push_back({task, found.methods.front().object, found.methods.back().object});
}

void AsyncGraph::add_edge(Address awaited, Address waiter) {
  awaited = box_of(awaited);
  waiter = box_of(waiter);
  if (awaited == 0) return;
  // A task that goes on does so with its first continuation.
  const auto suspended = std::ranges::lower_bound(suspended_, waiter, {}, &Suspended::task);
  if (suspended != suspended_.end() && suspended->task == waiter) waiter = suspended->first;
  up_.push_back({awaited, waiter});
  down_.push_back({waiter, awaited});
}

const AsyncBox* AsyncGraph::box(Address object) const {
  const auto found = std::ranges::lower_bound(boxes_, object, {}, &AsyncBox::object);
  return found != boxes_.end() && found->object == object ? &*found : nullptr;
}

Address AsyncGraph::box_of(Address object) const {
  const auto found = std::ranges::lower_bound(machines_, object, {}, &std::pair<Address, Address>::first);
  return found != machines_.end() && found->first == object ? found->second : object;
}

std::span<const AsyncEdge> AsyncGraph::waiters(Address object) const {
  return of(up_, object);
}

std::span<const AsyncEdge> AsyncGraph::awaited(Address object) const {
  return of(down_, object);
}

} // namespace clr
