#include "capi/queries.h"

#include "capi/kept_rows.h"
#include "core/publish/code_catalog.h"
#include "core/report/answer_json.h"
#include "core/report/exception_report.h"
#include "core/report/gc_json.h"
#include "core/report/json.h"
#include "core/report/object_json.h"
#include "core/report/root_json.h"
#include "core/report/thread_report.h"
#include "core/runtime/address_queries.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/presence.h"
#include "core/types/code_versions.h"
#include "include/lldb_clr.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>
#include <vector>

namespace clr::capi {

namespace {

Runtime& require_runtime(Inspection& inspection) {
  Runtime& runtime = inspection.runtime();
  clr::require_runtime(runtime);
  return runtime;
}

// The same form as in `clr threads --json`. A thread that the runtime does not know has only its ids.
Json thread_row(const ThreadRow* known, const RuntimeThread* thread, ExceptionReporter* exceptions) {
  Json json;
  if (thread != nullptr) {
    json = to_json(report_thread(*thread, known != nullptr ? known->index : 0, *exceptions));
    if (known != nullptr && json["name"].is_null() && !known->name.empty()) json["name"] = known->name;
  } else {
    json["index"] = known->index;
    json["os_id"] = known->os_id;
    if (!known->name.empty()) json["name"] = known->name;
  }
  json["selected"] = known != nullptr && known->selected;
  return json;
}

} // namespace

runtime::Answer answer_at(Inspection& inspection, Address address) {
  return clr::answer_at(inspection.runtime(), address, [&](Address at) { return inspection.symbol_at(at); });
}

RowStream::Producer info_rows(bool counts) {
  return [counts](Inspection& inspection, const RowStream::Emit& emit) {
    Runtime& runtime = inspection.runtime();
    Json json = to_json(counts ? runtime.info() : runtime.summary());
    if (!counts)
      for (const char* name : {"range_sections", "code_heaps", "jitted_methods", "r2r_functions", "modules"})
        json.erase(name);
    if (runtime.absence() != nullptr) json["absent"] = absence_text(runtime);
    json["memory"] = to_json(inspection.memory_report());
    emit(dump(json));
    return Json();
  };
}

RowStream::Producer address_rows(Address address) {
  return [address](Inspection& inspection, const RowStream::Emit& emit) {
    runtime::Answer answer = answer_at(inspection, address);
    inspection.runtime().add_source(answer);
    emit(json_text(answer));
    return Json();
  };
}

RowStream::Producer method_rows(MethodQuery query) {
  return [query = std::move(query)](Inspection& inspection, const RowStream::Emit& emit) {
    Json problems = Json::array();
    const auto holes = require_runtime(inspection).for_each_method(query, [&](const MethodRow& row) {
      return emit(json_text(row));
    });
    for (const EnumerationHole& hole : holes)
      problems.push_back(fmt::format("{:#x}: {}", hole.address, hole.what));
    return Json{{"problems", std::move(problems)}};
  };
}

RowStream::Producer module_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    for (const ModuleDescription& module : require_runtime(inspection).names()->modules())
      if (!emit(dump(to_json(module)))) break;
    return Json();
  };
}

RowStream::Producer thread_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    // Makes all rows at once, because commands between two rows may replace the reporter that owns the list.
    Json problems = Json::array();
    std::vector<Json> rows;
    StackReporter& stacks = inspection.stacks();
    std::optional<ExceptionReporter> exceptions;
    if (inspection.runtime().absence() == nullptr) {
      exceptions.emplace(inspection.runtime());
      if (!stacks.threads().problem.empty()) problems.push_back(stacks.threads().problem);
    }
    std::set<const RuntimeThread*> told;
    for (const ThreadRow& row : inspection.threads()) {
      const RuntimeThread* known = exceptions ? stacks.thread_of(row.os_id) : nullptr;
      told.insert(known);
      rows.push_back(thread_row(&row, known, exceptions ? &*exceptions : nullptr));
    }
    if (exceptions)
      for (const RuntimeThread& thread : stacks.threads().threads)
        if (!told.contains(&thread)) rows.push_back(thread_row(nullptr, &thread, &*exceptions));
    for (const Json& row : rows)
      if (!emit(dump(row))) break;
    return Json{{"problems", std::move(problems)}};
  };
}

RowStream::Producer frame_rows(std::uint64_t os_id, const StackReporter::Options& options) {
  return [os_id, options](Inspection& inspection, const RowStream::Emit& emit) {
    // Walks at once, because later calls may free objects that the walker uses. Rows share their common
    // parts.
    std::vector<FrameRow> rows;
    const StackReporter::End end = inspection.walk(os_id, options, [&](const FrameRow& row) {
      rows.push_back(row);
      return true;
    });
    FrameJson frames;
    std::string text;
    for (const FrameRow& row : rows) {
      text.clear();
      JsonWriter json(text);
      frames.write(json, row);
      if (!emit(text)) break;
    }
    return Json{{"end", end.end}, {"notes", end.notes}};
  };
}

RowStream::Producer exception_rows(Address object) {
  return [object](Inspection& inspection, const RowStream::Emit& emit) {
    Runtime& runtime = require_runtime(inspection);
    ExceptionReporter reporter(runtime, inspection.stacks(),
                               [&](std::uint64_t os_id, const std::function<bool(const FrameRow&)>& visit) {
                                 inspection.walk(os_id, {.runtime_frames = false, .lines = false}, visit);
                               });
    for (const ExceptionReport& report : reporter.tree(object))
      if (!emit(exception_json(report))) break;
    return Json();
  };
}

RowStream::Producer object_rows(Address object, std::string path, std::uint64_t items) {
  return [object, path = std::move(path), items](Inspection& inspection, const RowStream::Emit& emit) {
    Runtime& runtime = require_runtime(inspection);
    emit(object_json(runtime, object, path, {.items = items}));
    return Json();
  };
}

RowStream::Producer static_rows(std::string pattern, std::uint64_t os_id) {
  return [pattern = std::move(pattern), os_id](Inspection& inspection, const RowStream::Emit& emit) {
    Runtime& runtime = require_runtime(inspection);
    const NameFilter filter(pattern);
    StaticSearch search{.accepts = [&](const std::string& name) { return filter.accepts(name); },
                        .threads = {},
                        .limits = {}};
    for (const RuntimeThread& thread : inspection.stacks().threads().threads)
      if (thread.os_id.value_or(0) != 0 && (os_id == 0 || thread.os_id == os_id))
        search.threads.push_back({.os_id = *thread.os_id, .address = thread.address});
    if (os_id != 0 && search.threads.empty())
      throw Error(ErrorKind::invalid_argument, fmt::format("the runtime knows no thread with id {}", os_id));
    KeptRows rows;
    std::vector<std::string> problems = for_each_static(
        *runtime.objects(), search, [&](const StaticRow& row) { return rows.add(json_text(row)); });
    rows.emit(emit);
    rows.tell(problems);
    return Json{{"problems", std::move(problems)}};
  };
}

RowStream::Producer unwind_rows(Address address) {
  return [address](Inspection& inspection, const RowStream::Emit& emit) {
    Json json;
    const UnwindAnswer answer = unwind_at(inspection.runtime(), inspection.memory(), address,
                                          [&](Address at) { return inspection.symbol_at(at); });
    json["address"] = hex(address);
    json["name"] = answer.name;
    json.update(to_json(answer.report));
    emit(dump(json));
    return Json();
  };
}

RowStream::Producer gc_info_rows(Address address) {
  return [address](Inspection& inspection, const RowStream::Emit& emit) {
    emit(dump(to_json(gc_info_at(inspection.runtime(), address))));
    return Json();
  };
}

RowStream::Producer root_rows(std::uint64_t os_id) {
  return [os_id](Inspection& inspection, const RowStream::Emit& emit) {
    // Walks at once, like frame_rows.
    RootReporter reporter(require_runtime(inspection), inspection.stacks());
    KeptRows rows;
    StackReporter::End end = reporter.walk(inspection.registers(os_id), os_id,
                                           [&](const RootRow& row) { return rows.add(json_text(row)); });
    rows.emit(emit);
    rows.tell(end.notes);
    return Json{{"end", end.end}, {"notes", end.notes}};
  };
}

RowStream::Producer version_rows(Address method_desc) {
  return [method_desc](Inspection& inspection, const RowStream::Emit& emit) {
    Runtime& runtime = require_runtime(inspection);
    const MethodDesc method = runtime.names()->method_desc(method_desc);
    if (method.code_data == 0) return Json();
    CodeVersions(*runtime.target()).for_each(method.code_data, [&](const NativeCodeVersion& version) {
      Json json;
      json["node"] = hex(version.node);
      json["start"] = version.code != 0 ? Json(hex(version.code)) : Json(nullptr);
      const auto tier = to_string(version.tier);
      json["tier"] = tier ? Json(*tier) : Json(nullptr);
      json["active"] = version.active;
      json["il_version"] = version.il_version;
      return emit(dump(json));
    });
    return Json();
  };
}

RowStream::Producer save_core_rows(std::string path, std::uint32_t flags) {
  return [path = std::move(path), flags](Inspection& inspection, const RowStream::Emit& emit) {
    const SavedCore written = save_core(inspection.save_source(), path,
                                        {.all_methods = (flags & CLR_SAVE_ALL_METHODS) != 0,
                                         .heap = (flags & CLR_SAVE_HEAP) != 0,
                                         .values = (flags & CLR_SAVE_VALUES) != 0,
                                         .describe = read_descriptions,
                                         .made_by = fmt::format("lldb-clr {}", clr_version())});
    Json json;
    json["path"] = path;
    json["size"] = written.file_size;
    json["memory"] = written.memory_size;
    json["segments"] = written.segments;
    json["missing"] = written.missing.size();
    json["left_out"] = written.left_out;
    emit(dump(json));
    return Json();
  };
}

} // namespace clr::capi
