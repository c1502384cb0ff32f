// Producers of rows about the managed heap.
#include "capi/bulk.h"
#include "capi/queries.h"
#include "core/objects/object_condition.h"
#include "core/report/heap_json.h"
#include "core/report/json.h"
#include "core/report/memory_use.h"
#include "core/runtime/presence.h"

#include <nlohmann/json.hpp>

namespace clr::capi {

namespace {

HeapReporter& heap_of(Inspection& inspection) {
  require_runtime(inspection.runtime());
  return inspection.heap();
}

Json texts_of(HeapReporter& heap, const std::vector<HeapGap>& gaps) {
  Json texts = heap.warnings();
  for (const std::string& text : gap_texts(gaps, heap.map().bytes())) texts.push_back(text);
  return texts;
}

} // namespace

RowStream::Producer heap_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    Json json = heap_json(heap.map(), heap.statistics());
    add_to_json(json, memory_use(inspection.runtime(), heap, [&] { return inspection.save_source(); }));
    emit(dump(json));
    return Json();
  };
}

namespace {

Json emit_types(const HeapTypeReport& report, Json all, const RowStream::Emit& emit) {
  for (const HeapTypeRow& row : report.rows)
    if (!emit(dump(to_json(row)))) break;
  all.erase("types");
  return all;
}

} // namespace

RowStream::Producer heap_type_rows(HeapQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const HeapTypeReport report = heap.count_types(query);
    return emit_types(report, to_json(report, heap.map(), query.part), emit);
  };
}

RowStream::Producer reached_type_rows(HeapQuery query, bool live) {
  return [query = std::move(query), live](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const HeapTypeReport report = heap.count_types(query, inspection.holders().count_reached(live));
    return emit_types(report, to_json(report, heap.map(), query.part, live), emit);
  };
}

RowStream::Producer object_rows(HeapQuery query, std::vector<std::string> conditions) {
  return [query = std::move(query), conditions = std::move(conditions)](Inspection& inspection,
                                                                        const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    ObjectConditions fit(conditions);
    ObjectReader& reader = *inspection.runtime().objects();
    std::string text;
    const std::vector<HeapGap> gaps = heap.for_each_object(query, [&](const HeapObjectRow& row) {
      if (!fit.hold(reader, row.address)) return true;
      text.clear();
      JsonWriter json(text);
      write_json(json, row);
      return emit(text);
    });
    Json problems = texts_of(heap, gaps);
    if (std::string problem = fit.problem(); !problem.empty()) problems.push_back(std::move(problem));
    return Json{{"problems", std::move(problems)}};
  };
}

RowStream::Producer string_rows(StringQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const std::vector<HeapGap> gaps =
        for_each_string(inspection.runtime(), heap, query,
                        [&](const HeapString& string) { return emit(dump(to_json(string, false))); });
    return Json{{"problems", texts_of(heap, gaps)}};
  };
}

RowStream::Producer duplicate_rows(StringQuery query, std::size_t most) {
  return [query = std::move(query), most](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const DuplicateStrings found =
        find_duplicates(inspection.runtime(), heap, query, most, [] { return true; });
    for (const HeapString& string : found.rows)
      if (!emit(dump(to_json(string, true)))) break;
    return Json{{"strings", found.strings}, {"texts", found.texts}, {"problems", texts_of(heap, found.gaps)}};
  };
}

RowStream::Producer array_rows(ArrayQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const HeapArrays found = find_arrays(heap, query);
    for (const HeapArray& row : found.rows)
      if (!emit(dump(to_json(row)))) break;
    return Json{{"arrays", found.arrays},
                {"bytes", found.bytes},
                {"empty_bytes", found.empty_bytes},
                {"problems", texts_of(heap, found.gaps)}};
  };
}

RowStream::Producer free_space_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    emit(dump(free_json(heap, heap.free_space(largest_free_blocks))));
    return Json();
  };
}

RowStream::Producer allocation_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const ThreadList& threads = inspection.stacks().threads();
    Json problems = heap.warnings();
    if (!threads.problem.empty()) problems.push_back(threads.problem);
    const ContextOwners owners(threads);
    for (const AllocationContext& context : heap.map().contexts)
      if (!emit(dump(allocation_json(context, owners.of(context), heap.map())))) break;
    return Json{{"problems", std::move(problems)}};
  };
}

HeapColumns heap_columns(Inspection& inspection) {
  HeapReporter& heap = heap_of(inspection);
  HeapColumns columns{.table = make_heap_table(heap.map(), heap.types()), .json = {}};
  Json types = Json::array();
  for (std::uint32_t i = 0; i < heap.types().count(); ++i) {
    const HeapTypeRow& type = heap.type(heap.types().at(i).method_table);
    types.push_back({{"name", type.name},
                     {"module", type.module.empty() ? Json() : Json(type.module)},
                     {"method_table", hex(type.method_table)}});
  }
  columns.json = dump(Json{{"types", std::move(types)}, {"problems", texts_of(heap, columns.table.gaps)}});
  return columns;
}

} // namespace clr::capi
