// HeapRetainers by root: static fields, handles and threads as groups of roots.
#include "core/runtime/heap_retainers.h"
#include "core/runtime/name_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace clr {

struct HeapRetainers::RootGroups {
  std::vector<HeapRoot> roots;        // by group: what stands for it
  std::vector<std::uint32_t> objects; // roots of the graph, and
  HeapRootGroups groups;              // their groups

  std::uint32_t add_group(HeapRoot root) {
    roots.push_back(std::move(root));
    return groups.count++;
  }
  void add(std::uint32_t object, std::uint32_t group) {
    objects.push_back(object);
    groups.of_root.push_back(group);
  }
};

std::string text_of(const HeapRoot& root) {
  switch (root.kind) {
  case HeapRoot::Kind::static_field:
    return root.name.empty() ? "static fields without a name" : "static " + root.name;
  case HeapRoot::Kind::stack:
  case HeapRoot::Kind::thread_static:
    return fmt::format("thread {}", root.os_id);
  case HeapRoot::Kind::handle:
    return fmt::format("{} handle {:#x}", to_string(root.handle_kind), root.slot.value_or(0));
  case HeapRoot::Kind::finalizer:
    break;
  }
  return "finalizer queue";
}

HeapRetainers::RootGroups HeapRetainers::group_roots(const HeapWalkOptions& options) {
  RootGroups made;
  const std::vector<HeapRoot>& roots = holders_->roots(options);
  const std::vector<std::uint32_t>& objects = holders_->root_objects(options);
  std::unordered_map<std::uint64_t, std::uint32_t> threads;
  std::optional<std::uint32_t> finalizers;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (objects[i] == HeapIndex::none) continue;
    const HeapRoot& root = roots[i];
    if (root.kind == HeapRoot::Kind::handle) {
      made.add(objects[i], made.add_group(root));
    } else if (root.kind == HeapRoot::Kind::finalizer) {
      if (!finalizers) finalizers = made.add_group({.kind = root.kind, .stack = nullptr});
      made.add(objects[i], *finalizers);
    } else {
      const auto [thread, added] = threads.try_emplace(root.os_id, made.groups.count);
      if (added) made.add_group({.kind = HeapRoot::Kind::stack, .os_id = root.os_id, .stack = nullptr});
      made.add(objects[i], thread->second);
    }
  }
  add_statics(made, options);
  return made;
}

// Static fields are elements of arrays that handles hold. Each element becomes a root of its own, and the
// array holds nothing but itself.
void HeapRetainers::add_statics(RootGroups& made, const HeapWalkOptions& options) {
  HeapGraph& graph = holders_->graph(options);
  const HeapIndex& index = graph.index();
  made.groups.cut.assign(index.count(), false);
  std::vector<bool> held(index.count(), false);
  for (std::size_t i = 0; i < made.objects.size(); ++i)
    if (made.roots[made.groups.of_root[i]].kind == HeapRoot::Kind::handle) held[made.objects[i]] = true;
  std::set<std::pair<std::uint32_t, std::uint32_t>> named; // array, object
  std::set<std::uint32_t> arrays;
  for (const StaticField& field : holders_->statics().all()) {
    try {
      const std::uint32_t array = index.last_before(field.slot);
      if (array == HeapIndex::none || !held[array]) continue;
      const std::uint32_t object = index.find(heap_->types().target().read_pointer(field.slot));
      arrays.insert(array);
      if (object == HeapIndex::none) continue;
      made.add(object, made.add_group({.kind = HeapRoot::Kind::static_field,
                                       .object = index.address(object),
                                       .slot = field.slot,
                                       .stack = nullptr,
                                       .name = field.name}));
      named.emplace(array, object);
    } catch (const Error&) {
      // A field whose memory is missing holds nothing that is known.
    }
  }
  std::optional<std::uint32_t> others;
  for (const std::uint32_t array : arrays) {
    made.groups.cut[array] = true;
    for (const std::uint32_t object : graph.out().of(array)) {
      if (named.contains({array, object})) continue;
      if (!others) others = made.add_group({.kind = HeapRoot::Kind::static_field, .stack = nullptr});
      made.add(object, *others);
    }
  }
}

std::vector<RetainedRow> HeapRetainers::roots(const std::string& glob, std::size_t most,
                                              const HeapWalkOptions& options) {
  const RootGroups made = group_roots(options);
  HeapGraph& graph = holders_->graph(options);
  const HeapRetained known(heap_->map(), heap_->types(), graph, made.objects, options, &made.groups);
  if (known.interrupted())
    throw Error(ErrorKind::interrupted, "interrupted while it was found out what holds what");
  const NameFilter filter(glob);
  const std::uint32_t first = graph.index().count(); // the number of the first group
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < made.groups.count; ++group)
    if (known.count(first + group) != 0 && filter.accepts(text_of(made.roots[group])))
      groups.push_back(group);
  std::ranges::stable_sort(groups, std::greater<>(),
                           [&](std::uint32_t group) { return known.retained(first + group); });
  if (groups.size() > most) groups.resize(most);
  std::vector<RetainedRow> rows;
  std::unordered_map<std::uint32_t, std::size_t> row_of;
  for (const std::uint32_t group : groups) {
    row_of.emplace(group, rows.size());
    RetainedRow row{.count = known.count(first + group), .retained = known.retained(first + group)};
    row.root = made.roots[group];
    rows.push_back(std::move(row));
  }
  // What each holds: the object where it is one, and the bytes of all.
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen; // group, object
  for (std::size_t i = 0; i < made.objects.size(); ++i) {
    const auto found = row_of.find(made.groups.of_root[i]);
    if (found == row_of.end() || !seen.emplace(made.groups.of_root[i], made.objects[i]).second) continue;
    RetainedRow& row = rows[found->second];
    const Address object = graph.index().address(made.objects[i]);
    row.object = row.bytes == 0 ? object : 0;
    row.bytes += holders_->object_at(object).size;
  }
  for (RetainedRow& row : rows)
    if (row.object != 0) row.type = holders_->type_of(row.object);
  return rows;
}

} // namespace clr
