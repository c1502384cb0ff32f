#include "core/runtime/heap_report.h"

#include "core/memory/utf8.h"
#include "core/runtime/name_filter.h"
#include "core/types/type_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

namespace {

Address base_of(const Runtime& runtime) {
  const LoadedModule* module = runtime.runtime_module();
  if (module == nullptr) throw Error(ErrorKind::internal, "a runtime without a module");
  return module->base;
}

} // namespace

std::string NameBudget::keep(std::string name) {
  if (name.size() > left_ && name.size() > max_cut) name = std::string(cut_utf8(name, max_cut)) + "...";
  left_ -= std::min(left_, name.size());
  return name;
}

HeapReporter::HeapReporter(Runtime& runtime)
    : runtime_(&runtime), map_(read_heap_map(*runtime.target(), base_of(runtime))),
      types_(*runtime.target()) {}

const HeapStatistics& HeapReporter::statistics(const HeapWalkOptions& options) {
  if (!statistics_ || statistics_->interrupted) statistics_ = count_heap(map_, types_, options);
  return *statistics_;
}

const HeapTypeRow& HeapReporter::type(Address method_table) {
  const auto [entry, added] = names_.try_emplace(method_table);
  HeapTypeRow& row = entry->second;
  if (!added) return row;
  row.method_table = method_table;
  if (method_table == map_.free_object) {
    row.name = "<free memory>";
    return row;
  }
  try {
    const RuntimeType& type = runtime_->names()->types().type(method_table);
    if (type.module != nullptr) row.module = name_budget_.keep(type.module->name.str());
    row.name = name_budget_.keep(runtime_->names()->type_name(method_table));
  } catch (const std::exception& error) {
    row.name = fmt::format("<unknown type: {}>", error.what());
  }
  return row;
}

HeapTypeReport HeapReporter::count_types(const HeapQuery& query, const HeapStatistics& statistics) {
  HeapTypeReport report{.gaps = statistics.gaps, .interrupted = statistics.interrupted};
  for (std::size_t i = 0; i < map_.ranges.size(); ++i)
    if (!query.part || *query.part == map_.ranges[i].part) report.free += statistics.ranges[i].free;
  const NameFilter filter(query.glob);
  const auto count_of = [&](const HeapTypeCount& type) {
    return query.part ? type.parts[static_cast<std::size_t>(*query.part)] : type.all();
  };
  // Names are made only of the types that need one.
  struct Entry {
    Address method_table;
    HeapCount count;
  };
  std::vector<Entry> entries;
  for (const HeapTypeCount& type : statistics.types) {
    const HeapCount count = count_of(type);
    if (count.objects == 0 || (query.method_table != 0 && query.method_table != type.method_table)) continue;
    if (!filter.everything() && !filter.accepts(this->type(type.method_table).name)) continue;
    ++report.types;
    report.all += count;
    if (count.bytes >= query.least_bytes) entries.push_back({type.method_table, count});
  }
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
    const auto key = [&](const Entry& entry) {
      return query.by_count ? std::pair(entry.count.objects, entry.count.bytes)
                            : std::pair(entry.count.bytes, entry.count.objects);
    };
    return key(a) != key(b) ? key(a) > key(b) : a.method_table < b.method_table;
  });
  if (query.top != 0 && entries.size() > query.top) entries.resize(query.top);
  for (const Entry& entry : entries) {
    HeapTypeRow row = type(entry.method_table);
    row.count = entry.count;
    report.rows.push_back(std::move(row));
  }
  return report;
}

std::vector<HeapGap> HeapReporter::for_each_object(const HeapQuery& query,
                                                   const std::function<bool(const HeapObjectRow&)>& visit,
                                                   const HeapWalkOptions& options) {
  const NameFilter filter(query.glob);
  // By the number of a type: its row, null when it is not wanted. `decided` says which were looked at.
  std::vector<const HeapTypeRow*> wanted;
  std::vector<bool> decided;
  const auto row_of = [&](std::uint32_t number) {
    if (number >= wanted.size()) {
      wanted.resize(number + 1);
      decided.resize(number + 1);
    }
    if (!decided[number]) {
      const HeapTypeRow& row = type(types_.at(number).method_table);
      const bool of_table = query.method_table == 0 || query.method_table == row.method_table;
      if (of_table && row.method_table != map_.free_object && filter.accepts(row.name)) wanted[number] = &row;
      decided[number] = true;
    }
    return wanted[number];
  };
  std::vector<HeapGap> gaps;
  HeapWalker walker(map_, types_);
  std::uint64_t done = 0;
  const std::uint64_t all = map_.bytes();
  for (const HeapRange& range : map_.ranges) {
    if (query.part && *query.part != range.part) continue;
    const bool more = walker.walk(
        range,
        [&](std::span<const HeapObject> objects) {
          const std::uint64_t here = done + objects.front().address - range.begin;
          if (options.progress && !options.progress(here, all)) return false;
          for (const HeapObject& object : objects) {
            if (object.size < query.least_bytes) continue;
            const HeapTypeRow* const row = row_of(object.type);
            if (row != nullptr &&
                !visit({.address = object.address, .size = object.size, .part = range.part, .type = row}))
              return false;
          }
          return true;
        },
        gaps);
    if (!more) break;
    done += range.size();
  }
  return gaps;
}

std::vector<std::string> HeapReporter::warnings() const {
  std::vector<std::string> texts;
  if (map_.state.structures_invalid > 0)
    texts.emplace_back("the process stopped in the middle of a garbage collection: objects may be counted "
                       "that have died or that were moved, and some memory cannot be told from objects");
  if (map_.ranges.empty()) texts.emplace_back("the heap has no segments that can be read");
  texts.insert(texts.end(), map_.problems.begin(), map_.problems.end());
  return texts;
}

std::vector<std::string> gap_texts(const std::vector<HeapGap>& gaps, std::uint64_t heap_bytes) {
  std::vector<std::string> texts;
  for (const bool missing : {true, false}) {
    std::uint64_t bytes = 0;
    std::size_t places = 0;
    const HeapGap* first = nullptr;
    for (const HeapGap& gap : gaps) {
      if (gap.missing != missing) continue;
      if (first == nullptr) first = &gap;
      bytes += gap.bytes;
      ++places;
    }
    if (first == nullptr) continue;
    if (missing && bytes == heap_bytes)
      texts.emplace_back(
          fmt::format("the managed heap is not in this core: all of its {} bytes are missing", heap_bytes));
    else
      texts.push_back(
          fmt::format("{} of {} bytes of the heap {}: objects there are not counted ({} at {:#x}: {})", bytes,
                      heap_bytes, missing ? "are missing" : "hold no objects that could be told apart",
                      places == 1 ? "1 place," : fmt::format("{} places, the first", places), first->address,
                      first->why));
  }
  return texts;
}

} // namespace clr
