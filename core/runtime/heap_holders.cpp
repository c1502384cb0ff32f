#include "core/runtime/heap_holders.h"

#include "core/memory/count_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clr {

namespace {

[[noreturn]] void interrupted() {
  throw Error(ErrorKind::interrupted, "interrupted while the references of the heap were read");
}

} // namespace

HeapHolders::HeapHolders(Runtime& runtime, HeapReporter& heap, StackReporter& stacks, Threads threads)
    : runtime_(&runtime), heap_(&heap), stacks_(&stacks), threads_(std::move(threads)), maps_(heap.types()),
      names_(runtime), statics_(runtime) {}

void HeapHolders::note(std::string text) {
  if (notes_.size() < max_notes && std::ranges::find(notes_, text) == notes_.end())
    notes_.push_back(std::move(text));
}

const GcHandles& HeapHolders::handles() {
  if (!handles_) {
    handles_ = read_handles(*runtime_->target(), heap_->map().state);
    for (const std::string& problem : handles_->problems) note(problem);
    for (const GcHandle& handle : handles_->handles)
      if (handle.kind == GcHandleKind::dependent && handle.dependent != 0)
        dependents_.emplace(handle.object, handle.dependent);
    loaders_.emplace(heap_->types(), *handles_);
  }
  return *handles_;
}

const FinalizerQueue& HeapHolders::finalizers() {
  if (!finalizers_) {
    finalizers_ = read_finalizer_queue(*runtime_->target(), heap_->map().state);
    for (const std::string& problem : finalizers_->problems) note(problem);
  }
  return *finalizers_;
}

HeapObject HeapHolders::object_at(Address address) {
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorKind::invalid_argument, fmt::format("no object begins at {:#x}: {}", address, why));
  };
  const HeapRange* const range = heap_->map().find(address);
  if (range == nullptr) refuse("it is not in the managed heap");
  const Target& target = *runtime_->target();
  const unsigned word = target.pointer_size();
  const Address mask = target.find_global("ObjectToMethodTableUnmask").value_or(word == 8 ? 7 : 3);
  const char* why = "";
  const auto type = heap_->types().find(target.read_pointer(address) & ~mask, why);
  if (!type) refuse(why);
  const HeapType described = heap_->types().at(*type);
  std::uint64_t size = described.base_size;
  if (described.has_elements())
    size += std::uint64_t{described.component_size} * target.read_u32(address + word);
  size = (std::max<std::uint64_t>(size, 3 * word) + word - 1) / word * word;
  if (size > range->end - address) refuse("it would reach beyond its segment");
  return {.address = address, .size = size, .type = *type};
}

void HeapHolders::for_each_reference(Address address, const VisitReference& visit,
                                     std::optional<Address> to) {
  const HeapObject object = object_at(address);
  const Address method_table = heap_->types().at(object.type).method_table;
  const auto wanted = [&](const HeapReference& reference) { return !to || reference.to == *to; };
  if (const std::string& fault = maps_.of(object.type).fault; !fault.empty() && !to)
    note(fmt::format("the references of {:#x} are not known: {}", address, fault));
  bool going = true;
  ReferenceReader(maps_).read(object, [&](std::uint64_t offset, Address value) {
    HeapReference reference{.from = address, .to = value, .offset = offset, .field = {}};
    if (!wanted(reference)) return true;
    reference.field = names_.name(method_table, offset);
    return going = visit(reference);
  });
  if (!going) return;
  try {
    handles();
  } catch (const Error& error) {
    return note(fmt::format("references by handles are not known: {}", error.what()));
  }
  const auto [begin, end] = dependents_.equal_range(address);
  for (auto kept = begin; kept != end; ++kept) {
    const HeapReference reference{
        .from = address, .to = kept->second, .offset = {}, .field = "(dependent handle)"};
    if (wanted(reference) && !visit(reference)) return;
  }
  const HeapReference reference{
      .from = address, .to = loaders_->of(object.type), .offset = {}, .field = "(the loader of its type)"};
  if (reference.to != 0 && wanted(reference)) visit(reference);
}

std::unique_ptr<HeapIndexing> HeapHolders::indexing() {
  return graph_ || index_ ? nullptr : std::make_unique<HeapIndexing>(heap_->map(), heap_->types());
}

void HeapHolders::take(HeapIndexing& indexed) {
  if (indexed.failure) return;
  HeapIndex index = indexed.take();
  if (!index.interrupted()) index_ = std::move(index);
}

HeapGraph& HeapHolders::graph(const HeapWalkOptions& options) {
  if (!graph_) {
    if (!index_) index_.emplace(heap_->map(), heap_->types(), options);
    if (index_->interrupted()) {
      index_.reset();
      interrupted();
    }
    const GcHandles& all = handles();
    auto made = std::make_unique<HeapGraph>(*std::exchange(index_, {}), heap_->map(), maps_, all, options);
    if (made->interrupted()) interrupted();
    graph_ = std::move(made);
    if (const ReferenceMaps::Faults faults = maps_.faults(); faults.types != 0)
      note(fmt::format("the references of objects of {} are not known{}: {}",
                       count_text(faults.types, "type"), faults.types == 1 ? "" : ", the first",
                       faults.first));
  }
  return *graph_;
}

std::uint32_t HeapHolders::number_of(Address object, const HeapWalkOptions& options) {
  const std::uint32_t number = graph(options).index().find(object);
  if (number == HeapIndex::none)
    throw Error(ErrorKind::invalid_argument, fmt::format("no object begins at {:#x}", object));
  return number;
}

void HeapHolders::for_each_referrer(Address object, const VisitReference& visit,
                                    const HeapWalkOptions& options) {
  const std::uint32_t number = number_of(object, options);
  std::uint32_t last = HeapIndex::none;
  bool going = true;
  for (const std::uint32_t from : graph_->in().of(number)) {
    if (from == last) continue; // an object that refers to it twice
    last = from;
    for_each_reference(
        graph_->index().address(from),
        [&](const HeapReference& reference) { return going = visit(reference); }, object);
    if (!going) return;
  }
}

std::string HeapHolders::field_between(Address from, Address to) {
  std::string field;
  for_each_reference(
      from,
      [&](const HeapReference& reference) {
        field = reference.field;
        return false;
      },
      to);
  return field;
}

const HeapTree& HeapHolders::tree(const HeapWalkOptions& options) {
  graph(options);
  if (!tree_) {
    collect_roots();
    root_objects_.clear();
    for (const HeapRoot& root : roots_) root_objects_.push_back(graph_->index().find(root.object));
    auto made = std::make_unique<HeapTree>(*graph_, root_objects_, options);
    if (made->interrupted()) interrupted();
    tree_ = std::move(made);
  }
  return *tree_;
}

std::string HeapHolders::type_of(Address object) {
  try {
    return heap_->type(heap_->types().at(object_at(object).type).method_table).name;
  } catch (const Error&) {
    return {};
  }
}

const std::vector<std::uint32_t>& HeapHolders::root_objects(const HeapWalkOptions& options) {
  tree(options);
  return root_objects_;
}

const std::vector<HeapRoot>& HeapHolders::roots(const HeapWalkOptions& options) {
  tree(options);
  return roots_;
}

HeapPath HeapHolders::make_path(std::uint32_t root, const HeapTree::Path& objects, KnownSteps& known) {
  HeapPath path{.root = roots_[root], .steps = {}};
  const auto add = [&](std::uint32_t number, std::size_t left_out) {
    HeapStep step{.object = graph_->index().address(number), .type = {}, .field = {}, .left_out = left_out};
    step.type = type_of(step.object);
    if (!path.steps.empty() && left_out == 0) {
      const Address from = path.steps.back().object;
      const auto [field, added] = known.fields.try_emplace({from, step.object});
      if (added) field->second = field_between(from, step.object);
      step.field = field->second;
    }
    path.steps.push_back(std::move(step));
  };
  for (const std::uint32_t number : objects.first) add(number, 0);
  for (std::size_t i = 0; i < objects.last.size(); ++i) add(objects.last[i], i == 0 ? objects.left_out : 0);
  name_static(path, known);
  return path;
}

// Static fields are elements of arrays that handles hold: the field says more than these.
void HeapHolders::name_static(HeapPath& path, KnownSteps& known) {
  if (path.root.kind != HeapRoot::Kind::handle || path.steps.size() < 2) return;
  const Address array = path.steps.front().object, held = path.steps[1].object;
  const auto [slot, added] = known.static_slots.try_emplace({array, held});
  if (added) slot->second = static_slot(array, held);
  if (!slot->second) return;
  HeapRoot root{.kind = HeapRoot::Kind::static_field, .object = held, .slot = *slot->second};
  root.name = statics_.at(*slot->second)->name;
  path.root = std::move(root);
  path.steps.erase(path.steps.begin());
  path.steps.front().field.clear();
}

std::optional<Address> HeapHolders::static_slot(Address array, Address held) {
  std::optional<Address> found;
  ReferenceReader(maps_).read(object_at(array), [&](std::uint64_t offset, Address value) {
    if (value == held && statics_.at(array + offset) != nullptr) found = array + offset;
    return !found;
  });
  return found;
}

HeapStatistics HeapHolders::count_reached(bool live, const HeapWalkOptions& options) {
  const HeapTree& tree = this->tree(options);
  const HeapLiveness only{.index = &graph_->index(), .tree = &tree, .live = live};
  return count_heap(heap_->map(), heap_->types(), options, heap_threads(), &only);
}

HeapPaths HeapHolders::paths(Address object, std::size_t most, const HeapWalkOptions& options) {
  const std::uint32_t wanted = number_of(object, options);
  const HeapTree& tree = this->tree(options);
  HeapPaths found;
  KnownSteps known;
  if (!tree.reached(wanted) || most == 0) return found;
  if (most == 1) {
    const HeapTree::Path objects = tree.path(wanted, HeapPath::max_steps_of_an_end);
    const std::uint32_t first = objects.first.empty() ? objects.last.front() : objects.first.front();
    found.paths.push_back(make_path(*tree.root_of(first), objects, known));
    return found;
  }
  // From the object backward: roots come in the order of their distance.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_object; // object, root
  for (std::uint32_t i = 0; i < root_objects_.size(); ++i)
    if (root_objects_[i] != HeapIndex::none) by_object.emplace_back(root_objects_[i], i);
  std::ranges::sort(by_object);
  constexpr std::size_t stride = 1 << 16;
  std::vector<std::uint32_t> next(graph_->index().count(), HeapIndex::none);
  std::vector<std::uint32_t> queue{wanted};
  next[wanted] = wanted;
  std::size_t steps = 0; // of all ways
  for (std::size_t at = 0; at < queue.size() && found.paths.size() < most; ++at) {
    if (at % stride == 0 && options.progress && !options.progress(at, tree.reached_count())) interrupted();
    const std::uint32_t here = queue[at];
    auto root = std::ranges::lower_bound(by_object, std::pair{here, std::uint32_t{0}});
    for (; root != by_object.end() && root->first == here && found.paths.size() < most; ++root) {
      if (steps > HeapPaths::max_steps) {
        found.left_out =
            fmt::format("there may be more roots: these have {} objects on their ways", HeapPaths::max_steps);
        return found;
      }
      HeapTree::Path objects{.first = {}, .last = {here}, .left_out = 0};
      while (objects.last.back() != wanted) objects.last.push_back(next[objects.last.back()]);
      steps += objects.last.size();
      objects.cut(HeapPath::max_steps_of_an_end);
      found.paths.push_back(make_path(root->second, objects, known));
    }
    for (const std::uint32_t from : graph_->in().of(here)) {
      if (next[from] != HeapIndex::none || !tree.reached(from)) continue;
      next[from] = here;
      queue.push_back(from);
    }
  }
  return found;
}

} // namespace clr
