// Producers of rows about who holds what, and files of the heap. Rows are made at once, because a query of
// other objects may come between two of them; but for lists that such a query leaves as they are.
#include "capi/queries.h"
#include "core/memory/output_file.h"
#include "core/report/heap_gcdump.h"
#include "core/report/heap_summary_file.h"
#include "core/report/holders_json.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>

namespace clr::capi {

namespace {

HeapHolders& holders_of(Inspection& inspection) {
  require_runtime(inspection.runtime());
  return inspection.holders();
}

void emit_all(const std::vector<Json>& rows, const RowStream::Emit& emit) {
  for (const Json& row : rows)
    if (!emit(dump(row))) return;
}

Json notes_of(HeapHolders& holders) {
  return Json{{"problems", holders.notes()}};
}

// A file that is readable by its owner alone.
void write_file(const std::string& path, const std::function<void(OutputFile&)>& write) {
  OutputFile file(path, Readers::owner);
  write(file);
  file.commit();
}

} // namespace

RowStream::Producer reference_rows(Address object, bool to_it) {
  return [=](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    if (to_it)
      holders.for_each_referrer(
          object, [&](const HeapReference& reference) { return emit(in_json(reference, holders)); });
    else
      holders.for_each_reference(
          object, [&](const HeapReference& reference) { return emit(out_json(reference, holders)); });
    return Json();
  };
}

RowStream::Producer heap_root_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    // The list stays as it is, as that of handles does.
    for (const HeapRoot& root : holders.roots())
      if (!emit(dump(root_json(root, holders.type_of(root.object))))) break;
    return notes_of(holders);
  };
}

RowStream::Producer handle_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    // The list stays as it is whatever else is asked for, so that millions of rows need not be kept.
    const GcHandles& handles = holders.handles();
    for (const GcHandle& handle : handles.handles)
      if (!emit(dump(to_json(handle, holders)))) break;
    return Json{{"problems", handles.problems}};
  };
}

RowStream::Producer finalizer_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    std::string row;
    write_finalizers_json(holders, [&](std::string_view text) {
      row += text;
      return true;
    });
    emit(row);
    return Json{{"problems", holders.finalizers().problems}};
  };
}

RowStream::Producer verification_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    emit(dump(to_json(holders.verify())));
    return notes_of(holders);
  };
}

RowStream::Producer path_rows(Address object, std::size_t most) {
  return [=](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    std::vector<Json> rows;
    const HeapPaths found = holders.paths(object, most);
    for (const HeapPath& path : found.paths) rows.push_back(to_json(path));
    emit_all(rows, emit);
    Json notes = notes_of(holders);
    if (!found.left_out.empty()) notes["problems"].push_back(found.left_out);
    return notes;
  };
}

RowStream::Producer retained_rows(Address object) {
  return [=](Inspection& inspection, const RowStream::Emit& emit) {
    holders_of(inspection);
    emit(dump(to_json(inspection.retainers().object(object))));
    return Json();
  };
}

RowStream::Producer retainer_rows(RetainedBy by, std::string pattern, std::size_t most) {
  return [=, pattern = std::move(pattern)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    std::vector<Json> rows;
    for (const RetainedRow& row : inspection.retainers().rows(by, pattern, most))
      rows.push_back(to_json(row));
    emit_all(rows, emit);
    return notes_of(holders);
  };
}

RowStream::Producer gcdump_rows(std::string path, bool live) {
  return [=, path = std::move(path)](Inspection& inspection, const RowStream::Emit& emit) {
    HeapHolders& holders = holders_of(inspection);
    WrittenGcdump written;
    write_file(path, [&](OutputFile& file) {
      written = write_heap_gcdump(inspection.heap(), holders, {.unix_seconds = std::time(nullptr)}, live,
                                  [&](std::span<const std::byte> bytes) { file.write(bytes); });
    });
    emit(dump(to_json(written, path)));
    return notes_of(holders);
  };
}

RowStream::Producer heap_save_rows(std::string path) {
  return [path = std::move(path)](Inspection& inspection, const RowStream::Emit& emit) {
    require_runtime(inspection.runtime());
    const HeapSummary summary = summarize(inspection.heap());
    const std::string text = heap_summary_text(summary);
    write_file(path, [&](OutputFile& file) { file.write(text); });
    emit(dump(Json{{"path", path}, {"size", text.size()}, {"types", summary.types.size()}}));
    return Json{{"problems", summary.warnings}};
  };
}

RowStream::Producer heap_difference_rows(std::string other) {
  return [other = std::move(other)](Inspection& inspection, const RowStream::Emit& emit) {
    require_runtime(inspection.runtime());
    const HeapSummary before = open_heap_summary(other, {}), after = summarize(inspection.heap());
    Json all = to_json(compare(before, after), other);
    for (const Json& row : all["types"])
      if (!emit(dump(row))) break;
    all.erase("types");
    all["problems"] = after.warnings;
    for (const std::string& text : before.warnings)
      all["problems"].push_back(fmt::format("{}: {}", other, text));
    return all;
  };
}

} // namespace clr::capi
