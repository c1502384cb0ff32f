#include "core/runtime/heap_retainers.h"

#include "core/runtime/name_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace clr {

HeapRetained& HeapRetainers::retained(const HeapWalkOptions& options) {
  if (!retained_) {
    const std::vector<std::uint32_t>& roots = holders_->root_objects(options);
    auto made = std::make_unique<HeapRetained>(heap_->map(), heap_->types(), holders_->graph(options), roots,
                                               options);
    if (made->interrupted())
      throw Error(ErrorKind::interrupted, "interrupted while it was found out what holds what");
    retained_ = std::move(made);
  }
  return *retained_;
}

std::vector<bool> HeapRetainers::types_like(const std::string& glob) {
  const NameFilter filter(glob);
  std::vector<bool> wanted;
  if (filter.everything()) return wanted;
  for (std::uint32_t i = 0; i < heap_->types().count(); ++i)
    wanted.push_back(filter.accepts(heap_->type(heap_->types().at(i).method_table).name));
  return wanted;
}

RetainedRow HeapRetainers::row_of(std::uint32_t object) {
  RetainedRow row{.object = holders_->graph().index().address(object)};
  row.type = heap_->type(heap_->types().at(retained_->type(object)).method_table).name;
  row.count = retained_->count(object);
  row.bytes = holders_->object_at(row.object).size;
  row.retained = retained_->retained(object);
  return row;
}

RetainedObject HeapRetainers::object(Address address, const HeapWalkOptions& options) {
  const HeapGraph& graph = holders_->graph(options);
  const std::uint32_t number = graph.index().find(address);
  if (number == HeapIndex::none)
    throw Error(ErrorKind::invalid_argument, fmt::format("no object begins at {:#x}", address));
  const HeapRetained& known = retained(options);
  RetainedObject found{.row = row_of(number), .alive = known.dominators().reached(number)};
  if (!found.alive) found.row.type = holders_->type_of(address);
  const RetainedCount reachable = count_reachable(graph, number, [&](std::uint32_t object) {
    return holders_->object_at(graph.index().address(object)).size;
  });
  found.reachable = reachable.bytes;
  found.leads_to = reachable.objects;
  if (const std::uint32_t holder = known.dominators().dominator(number); holder != HeapDominators::none) {
    found.holder = graph.index().address(holder);
    found.holder_type = holders_->type_of(found.holder);
  }
  return found;
}

std::vector<RetainedRow> HeapRetainers::objects(const std::string& glob, std::size_t most,
                                                const HeapWalkOptions& options) {
  const HeapRetained& known = retained(options);
  std::vector<RetainedRow> rows;
  for (const std::uint32_t object : known.largest(most, types_like(glob))) rows.push_back(row_of(object));
  return rows;
}

namespace {

void sort_and_cut(std::vector<RetainedRow>& rows, std::size_t most) {
  std::ranges::stable_sort(rows, std::greater<>(), &RetainedRow::retained);
  if (rows.size() > most) rows.resize(most);
}

} // namespace

std::vector<RetainedRow> HeapRetainers::types(const std::string& glob, std::size_t most,
                                              const HeapWalkOptions& options) {
  const std::vector<RetainedCount> counts = retained(options).by_type();
  const NameFilter filter(glob);
  std::vector<RetainedRow> rows;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    if (counts[i].objects == 0) continue;
    std::string name = heap_->type(heap_->types().at(i).method_table).name;
    if (!filter.accepts(name)) continue;
    rows.push_back({.type = std::move(name),
                    .field = {},
                    .count = counts[i].objects,
                    .bytes = counts[i].bytes,
                    .retained = counts[i].retained});
  }
  sort_and_cut(rows, most);
  return rows;
}

std::vector<RetainedRow> HeapRetainers::modules(const std::string& glob, std::size_t most,
                                                const HeapWalkOptions& options) {
  const HeapRetained& known = retained(options);
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> module_of;
  for (std::uint32_t i = 0; i < heap_->types().count(); ++i) {
    const std::string& module = heap_->type(heap_->types().at(i).method_table).module;
    const auto [entry, added] = numbers.try_emplace(module, static_cast<std::uint32_t>(names.size()));
    if (added) names.push_back(module);
    module_of.push_back(entry->second);
  }
  const std::vector<RetainedCount> counts = known.by_group(module_of, names.size());
  const NameFilter filter(glob);
  std::vector<RetainedRow> rows;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].objects == 0 || !filter.accepts(names[i])) continue;
    rows.push_back({.assembly = names[i].empty() ? "<unknown module>" : names[i],
                    .count = counts[i].objects,
                    .bytes = counts[i].bytes,
                    .retained = counts[i].retained});
  }
  sort_and_cut(rows, most);
  return rows;
}

std::vector<RetainedRow> HeapRetainers::statics(const std::string& glob, std::size_t most,
                                                const HeapWalkOptions& options) {
  const HeapRetained& known = retained(options);
  const HeapIndex& index = holders_->graph(options).index();
  const Target& target = heap_->types().target();
  // What two fields hold goes with neither of them.
  std::unordered_map<std::uint32_t, std::vector<const StaticField*>> fields_of;
  for (const StaticField& field : holders_->statics().all()) {
    try {
      // The array of static fields in which the field is an element must be the only way to what it holds.
      const std::uint32_t array = index.last_before(field.slot),
                          object = index.find(target.read_pointer(field.slot));
      if (array != HeapIndex::none && object != HeapIndex::none &&
          known.dominators().dominator(object) == array)
        fields_of[object].push_back(&field);
    } catch (const Error&) {
      // A field whose memory is missing holds nothing that is known.
    }
  }
  const NameFilter filter(glob);
  std::vector<RetainedRow> rows;
  for (const auto& [object, fields] : fields_of) {
    if (fields.size() != 1 || !filter.accepts(fields.front()->name)) continue;
    rows.push_back(row_of(object));
    rows.back().field = fields.front()->name;
  }
  std::ranges::sort(rows, {}, &RetainedRow::object);
  sort_and_cut(rows, most);
  return rows;
}

std::vector<RetainedRow> HeapRetainers::rows(RetainedBy by, const std::string& glob, std::size_t most,
                                             const HeapWalkOptions& options) {
  switch (by) {
  case RetainedBy::object:
    return objects(glob, most, options);
  case RetainedBy::type:
    return types(glob, most, options);
  case RetainedBy::assembly:
    return modules(glob, most, options);
  case RetainedBy::static_field:
    return statics(glob, most, options);
  case RetainedBy::root:
    return roots(glob, most, options);
  }
  return {};
}

} // namespace clr
