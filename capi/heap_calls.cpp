// The functions of include/lldb_clr.h about the managed heap.
#include "capi/bulk.h"
#include "capi/call.h"
#include "core/objects/object_condition.h"

struct clr_table {
  clr::capi::HeapColumns columns;
};

namespace {

using namespace clr;
using namespace clr::capi;

HeapQuery heap_query(const char* pattern, int part) {
  if (part < CLR_HEAP_ALL || part > CLR_HEAP_FROZEN)
    throw Error(ErrorKind::invalid_argument, "there is no such part of the heap");
  HeapQuery query{.glob = pattern == nullptr ? "" : pattern};
  if (part != CLR_HEAP_ALL) query.part = static_cast<HeapPart>(part);
  return query;
}

StringQuery string_query(const char* match, std::uint64_t least_bytes) {
  return {.match = match == nullptr ? "" : match, .least_bytes = least_bytes};
}

RetainedBy retained_by(int by) {
  if (by < CLR_RETAINED_BY_OBJECT || by > CLR_RETAINED_BY_ROOT)
    throw Error(ErrorKind::invalid_argument, "there are no such rows of what retains most");
  return static_cast<RetainedBy>(by);
}

template<typename Column>
const Column* column(const clr_table* table, std::vector<Column> HeapTable::*member) {
  return table == nullptr ? nullptr : (table->columns.table.*member).data();
}

} // namespace

extern "C" {

clr_rows* clr_query_heap(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return heap_rows(); });
}

clr_rows* clr_query_heap_types(clr_runtime* runtime, const char* pattern, int part, clr_error* error) {
  return query(runtime, error, [&] { return heap_type_rows(heap_query(pattern, part)); });
}

clr_rows* clr_query_objects(clr_runtime* runtime, const char* pattern, int part, clr_error* error) {
  return query(runtime, error, [&] { return object_rows(heap_query(pattern, part), {}); });
}

clr_rows* clr_query_objects_where(clr_runtime* runtime, const char* pattern, int part,
                                  const char* const* conditions, size_t count, clr_error* error) {
  return query(runtime, error, [&] {
    if (count != 0) require(conditions, "no conditions are given");
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      require(conditions[i], "a condition is null");
      texts.emplace_back(conditions[i]);
    }
    (void)ObjectConditions(texts); // what cannot be understood is told by this call
    return object_rows(heap_query(pattern, part), std::move(texts));
  });
}

clr_rows* clr_query_reached_types(clr_runtime* runtime, const char* pattern, int part, int live,
                                  clr_error* error) {
  return query(runtime, error, [&] { return reached_type_rows(heap_query(pattern, part), live != 0); });
}

clr_rows* clr_query_strings(clr_runtime* runtime, const char* match, uint64_t least_bytes, clr_error* error) {
  return query(runtime, error, [&] { return string_rows(string_query(match, least_bytes)); });
}

clr_rows* clr_query_duplicate_strings(clr_runtime* runtime, const char* match, uint64_t least_bytes,
                                      size_t most, clr_error* error) {
  return query(runtime, error, [&] { return duplicate_rows(string_query(match, least_bytes), most); });
}

clr_rows* clr_query_arrays(clr_runtime* runtime, const char* pattern, int part, int sparse,
                           uint64_t least_bytes, size_t most, clr_error* error) {
  return query(runtime, error, [&] {
    ArrayQuery wanted{.objects = heap_query(pattern, part), .sparse = sparse != 0};
    wanted.objects.least_bytes = least_bytes;
    wanted.objects.top = most;
    return array_rows(std::move(wanted));
  });
}

clr_rows* clr_query_free_space(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return free_space_rows(); });
}

clr_rows* clr_query_allocations(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return allocation_rows(); });
}

clr_rows* clr_query_handles(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return handle_rows(); });
}

clr_rows* clr_query_finalizers(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return finalizer_rows(); });
}

clr_rows* clr_query_verification(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return verification_rows(); });
}

clr_rows* clr_query_references(clr_runtime* runtime, uint64_t object, clr_error* error) {
  return query(runtime, error, [&] { return reference_rows(object, false); });
}

clr_rows* clr_query_referrers(clr_runtime* runtime, uint64_t object, clr_error* error) {
  return query(runtime, error, [&] { return reference_rows(object, true); });
}

clr_rows* clr_query_heap_roots(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return heap_root_rows(); });
}

clr_rows* clr_query_paths(clr_runtime* runtime, uint64_t object, size_t most, clr_error* error) {
  return query(runtime, error, [&] { return path_rows(object, most); });
}

clr_rows* clr_query_retained(clr_runtime* runtime, uint64_t object, clr_error* error) {
  return query(runtime, error, [&] { return retained_rows(object); });
}

clr_rows* clr_query_retainers(clr_runtime* runtime, int by, const char* pattern, size_t most,
                              clr_error* error) {
  return query(runtime, error,
               [&] { return retainer_rows(retained_by(by), pattern == nullptr ? "" : pattern, most); });
}

clr_rows* clr_query_gcdump(clr_runtime* runtime, const char* path, int live, clr_error* error) {
  return query(runtime, error, [&] {
    require(path, "no path is given");
    return gcdump_rows(path, live != 0);
  });
}

clr_rows* clr_query_heap_save(clr_runtime* runtime, const char* path, clr_error* error) {
  return query(runtime, error, [&] {
    require(path, "no path is given");
    return heap_save_rows(path);
  });
}

clr_rows* clr_query_heap_difference(clr_runtime* runtime, const char* other, clr_error* error) {
  return query(runtime, error, [&] {
    require(other, "no core or summary is given");
    return heap_difference_rows(other);
  });
}

clr_table* clr_heap_table(clr_runtime* runtime, clr_error* error) {
  return guarded(error, static_cast<clr_table*>(nullptr), [&] {
    require(runtime, "no runtime is given");
    clr_table* made = nullptr;
    runtime->inspection.visit(
        [&](Inspection& inspection) { made = new clr_table{heap_columns(inspection)}; });
    return made;
  });
}

size_t clr_table_count(const clr_table* table) {
  return table == nullptr ? 0 : table->columns.table.count();
}

const uint64_t* clr_table_addresses(const clr_table* table) {
  return column(table, &HeapTable::addresses);
}

const uint64_t* clr_table_sizes(const clr_table* table) {
  return column(table, &HeapTable::sizes);
}

const uint32_t* clr_table_types(const clr_table* table) {
  return column(table, &HeapTable::types);
}

const uint8_t* clr_table_generations(const clr_table* table) {
  return column(table, &HeapTable::parts);
}

const uint8_t* clr_table_free(const clr_table* table) {
  return column(table, &HeapTable::free);
}

const char* clr_table_json(const clr_table* table, size_t* size) {
  if (table == nullptr) return nullptr;
  if (size != nullptr) *size = table->columns.json.size();
  return table->columns.json.c_str();
}

void clr_table_close(clr_table* table) {
  delete table;
}

} // extern "C"
