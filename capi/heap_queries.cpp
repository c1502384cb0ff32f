// Producers of rows about the managed heap.
#include "capi/bulk.h"
#include "capi/queries.h"
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

RowStream::Producer heap_type_rows(HeapQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    const HeapTypeReport report = heap.count_types(query);
    Json all = to_json(report, heap.map(), query.part);
    for (const Json& row : all["types"])
      if (!emit(dump(row))) break;
    all.erase("types");
    return all;
  };
}

RowStream::Producer object_rows(HeapQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter& heap = heap_of(inspection);
    std::string text;
    const std::vector<HeapGap> gaps = heap.for_each_object(query, [&](const HeapObjectRow& row) {
      text.clear();
      JsonWriter json(text);
      write_json(json, row);
      return emit(text);
    });
    return Json{{"problems", texts_of(heap, gaps)}};
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
