#include "core/waits/async_graph.h"

#include <algorithm>
#include <unordered_set>

namespace clr {
namespace {

enum Class : std::size_t { tasks, pooled, semaphores, channels, own };

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
  // What builders of the user's own make, and every machine that is an object.
  pass.want([](const TypeLineage& lineage) {
    return lineage.of_machine && lineage.name.empty() && !lineage.derives_from("System.Threading.Tasks.Task");
  });
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
  // A million tasks may share one list of a million continuations, so what all lead to has a limit of its
  // own; that for the tasks which continuations keep, too.
  const std::size_t most = most_links(found.found[first + tasks].size() + found.found[first + pooled].size());
  kinds_.bound_links(most);
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
  if (found.found.size() > first + own) add_own_boxes(found.found[first + own]);
  std::ranges::sort(boxes_, {}, &AsyncBox::object);
  std::ranges::sort(machines_);
  std::ranges::sort(suspended_, {}, &Suspended::task);
  // The task that callers wait for is done when the last one is.
  for (const Suspended& one : suspended_) links_.push_back({one.last, one.task});
  for (const AsyncEdge& link : links_) {
    up_.push_back(link);
    down_.push_back({link.to, link.from});
  }
  left_out_ = left_out_ || kinds_.out_of_links();
  kinds_.bound_links(most);
  for (const FoundObject& object : found.found[first + tasks])
    guarded(object, [&](Address task) {
      const TaskFlags state = kinds_.flags(task);
      if (state.done()) {
        if (state.faulted()) faulted_.push_back(task);
        return;
      }
      kinds_.targets(kinds_.continuation(task), [&](Address waiter, AsyncKind kind) {
        if (kind == AsyncKind::blocker) blockers_.push_back(waiter);
        if (kind == AsyncKind::box && !copies_.empty()) reached_.push_back(waiter);
        add_edge(task, waiter);
      });
      kinds_.inner(task, [&](Address awaited) { add_edge(awaited, task); });
      if (const Address parent = state.has_parent() ? kinds_.parent(task) : 0) add_edge(task, parent);
    });
  drop_left_copies();
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
  add_builder_edges();
  left_out_ = left_out_ || kinds_.out_of_links() || continuations_.out_of_held();
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
  if (shape.is_machine && box.state < -1) return;          // it has ended, or has not begun
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
  if (box.shape->interpreter)
    if (const Address info = target.read_pointer(box.machine + *box.shape->interpreter))
      read_interpreted(box, info);
  if (const MachineAwait* const await = box.waits ? box.await() : nullptr) {
    box.awaiter_known = !await->site.awaiter.empty();
    if (await->awaited) box.awaited = target.read_pointer(box.machine + *await->awaited);
    if (await->boxed && box.awaited != 0)
      if (const auto inside = kinds_.shapes().awaited_by(kinds_.table_of(box.awaited)))
        box.awaited = target.read_pointer(box.awaited + *inside);
  }
  // An object that holds the machine, and is at rest until another call uses it.
  const auto& parts = box.shape->builder_parts;
  if (!parts.empty() && box.state == 0 && box.awaited == 0 &&
      std::ranges::all_of(parts,
                          [&](std::uint32_t part) { return target.read_pointer(box.machine + part) == 0; }))
    return;
  boxes_.push_back(box);
}

// A task of F#'s that no static code was made of, as in a Debug build: its awaits have no numbers. The
// interpreter keeps the awaiter while it waits for it.
// Source: dotnet/fsharp src/FSharp.Core/tasks.fs (RunDynamic).
void AsyncGraph::read_interpreted(AsyncBox& box, Address info) {
  const Address awaiter = kinds_.reference(info, "ResumptionData@");
  box.waits = awaiter != 0;
  if (!box.waits) return;
  box.state = 0;
  box.awaiter_known = true;
  const auto inside = kinds_.shapes().awaited_by(kinds_.table_of(awaiter));
  box.awaited = inside ? kinds_.target().read_pointer(awaiter + *inside) : awaiter;
}

// Objects that hold machines come first: a machine that is an object of its own is theirs.
void AsyncGraph::add_own_boxes(std::span<const FoundObject> found) {
  std::unordered_set<Address> held;
  for (const auto& [machine, box] : machines_) held.insert(machine);
  for (const bool machines : {false, true})
    for (const FoundObject& object : found) {
      const BoxShape* const shape = kinds_.shapes().box(object.method_table);
      if (shape == nullptr || shape->is_machine != machines || held.contains(object.address)) continue;
      const std::size_t before = boxes_.size();
      try {
        add_box(object.address, *shape);
      } catch (const Error&) {
        ++unreadable_;
      }
      if (boxes_.size() == before) continue;
      if (boxes_.back().machine == 0)
        boxes_.pop_back();
      else if (!machines && shape->machine_table == 0)
        held.insert(machines_.back().first);
      else if (machines && boxes_.back().shape->value_type)
        copies_.push_back(object.address);
    }
  std::ranges::sort(copies_);
}

// A builder that boxes the machine anew at each await leaves copies behind, which say that they wait, too.
// Nothing goes on by them.
void AsyncGraph::drop_left_copies() {
  if (copies_.empty()) return;
  for (const AsyncBox& box : boxes_) {
    try {
      // What is awaited may be of a type of the user's own, and keep delegates.
      if (box.awaited == 0 || !kinds_.is_promise(box.awaited)) continue;
      for (const Address held : kinds_.references(box.awaited))
        if (kinds_.kind(held) == AsyncKind::callback)
          kinds_.targets(held, [&](Address waiter, AsyncKind) { reached_.push_back(waiter); });
    } catch (const Error&) {
      ++unreadable_;
    }
  }
  std::ranges::sort(reached_);
  std::erase_if(boxes_, [&](const AsyncBox& box) {
    return box.waits && box.awaited != 0 && std::ranges::binary_search(copies_, box.object) &&
           !std::ranges::binary_search(reached_, box.object);
  });
}

// Others wait for what the builder holds, which is done when the method is.
void AsyncGraph::add_builder_edges() {
  std::vector<AsyncEdge> promises;
  for (const AsyncBox& box : boxes_) {
    const auto add = [&](Address promise) {
      if (promise != 0 && promise != box.object && promise != box.awaited && box_of(promise) != box.object &&
          kinds_.is_promise(promise))
        promises.push_back({promise, box.object});
    };
    try {
      for (const std::uint32_t part : box.shape->builder_parts) {
        const Address held = kinds_.target().read_pointer(box.machine + part);
        if (held == 0) continue;
        add(held);
        if (!box.shape->builder_is_object) continue;
        for (const Address inner : kinds_.references(held))
          if (kinds_.kind(inner) != AsyncKind::callback) add(inner);
      }
    } catch (const Error&) {
      ++unreadable_;
    }
  }
  make_unique(promises);
  // What several methods hold is no promise of one of them.
  for (std::size_t i = 0; i < promises.size(); ++i) {
    const Address promise = promises[i].from;
    if ((i > 0 && promises[i - 1].from == promise) ||
        (i + 1 < promises.size() && promises[i + 1].from == promise))
      continue;
    add_edge(promises[i].to, promise);
  }
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
