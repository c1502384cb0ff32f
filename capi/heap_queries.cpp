// Producers of rows about the managed heap.
#include "capi/queries.h"
#include "core/report/heap_json.h"
#include "core/report/json.h"
#include "core/runtime/presence.h"

#include <nlohmann/json.hpp>

namespace clr::capi {

namespace {

HeapReporter heap_of(Inspection& inspection) {
  Runtime& runtime = inspection.runtime();
  require_runtime(runtime);
  return HeapReporter(runtime);
}

Json texts_of(HeapReporter& heap, const std::vector<HeapGap>& gaps) {
  Json texts = heap.warnings();
  for (const std::string& text : gap_texts(gaps, heap.map().bytes())) texts.push_back(text);
  return texts;
}

} // namespace

RowStream::Producer heap_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter heap = heap_of(inspection);
    emit(dump(heap_json(heap.map(), heap.statistics())));
    return Json();
  };
}

RowStream::Producer heap_type_rows(HeapQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapReporter heap = heap_of(inspection);
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
    HeapReporter heap = heap_of(inspection);
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

} // namespace clr::capi
