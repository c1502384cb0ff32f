// The functions of include/lldb_clr.h: they work with handles and turn exceptions into errors.
#include "capi/bulk.h"
#include "capi/call.h"
#include "core/memory/utf8.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

struct clr_symbols {
  clr::capi::BulkAnswer answer;
};

namespace clr::capi {

int32_t status_of(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::memory_missing:
    return CLR_MEMORY_MISSING;
  case ErrorKind::corrupt:
    return CLR_CORRUPT;
  case ErrorKind::unsupported_contract:
    return CLR_UNSUPPORTED;
  case ErrorKind::invalid_argument:
    return CLR_INVALID;
  case ErrorKind::io:
    return CLR_IO;
  case ErrorKind::register_unknown:
    return CLR_REGISTER_UNKNOWN;
  case ErrorKind::no_process:
    return CLR_NO_PROCESS;
  case ErrorKind::process_running:
    return CLR_RUNNING;
  case ErrorKind::busy:
    return CLR_BUSY;
  case ErrorKind::interrupted:
    return CLR_INTERRUPTED;
  case ErrorKind::internal:
    return CLR_INTERNAL;
  }
  return CLR_INTERNAL;
}

void set(clr_error* error, int32_t status, const char* text, std::optional<Address> address) {
  if (error == nullptr) return;
  error->status = status;
  error->has_address = address ? 1 : 0;
  error->address = address.value_or(0);
  // Who calls prints it, and names of the target stand in it. Without memory for that, it ends before them.
  std::string shown;
  std::string_view fits = printable_part(text);
  try {
    shown = printable(text);
    fits = shown;
  } catch (const std::bad_alloc&) {
    error->status = CLR_NO_MEMORY;
  }
  fits = cut_utf8(fits, sizeof error->text - 1);
  std::memcpy(error->text, fits.data(), fits.size());
  error->text[fits.size()] = '\0';
}

} // namespace clr::capi

namespace {

using namespace clr;
using namespace clr::capi;

} // namespace

extern "C" {

uint32_t clr_api_version(void) {
  return CLR_API_VERSION;
}

const char* clr_version(void) {
  return CLR_PROJECT_VERSION;
}

clr_runtime* clr_open_core(const char* path, const char* options, clr_error* error) {
  return guarded(error, static_cast<clr_runtime*>(nullptr), [&] {
    require(path, "no path is given");
    return new clr_runtime{SharedInspection(open_core(path, options))};
  });
}

clr_runtime* clr_open_process(uint64_t debugger, uint32_t target, uint32_t process, clr_error* error) {
  return guarded(error, static_cast<clr_runtime*>(nullptr),
                 [&] { return new clr_runtime{SharedInspection(open_process(debugger, target, process))}; });
}

int clr_debugger_known(uint64_t debugger) {
  return guarded(nullptr, 0, [&] { return debugger_known(debugger) ? 1 : 0; });
}

void clr_close(clr_runtime* runtime) {
  delete runtime;
}

int clr_is_current(clr_runtime* runtime) {
  return guarded(nullptr, 0, [&] {
    require(runtime, "no runtime is given");
    runtime->inspection.visit([](Inspection&) {});
    return 1;
  });
}

int clr_publish(clr_runtime* runtime, clr_error* error) {
  return guarded(error, 0, [&] {
    require(runtime, "no runtime is given");
    runtime->inspection.visit([](Inspection& inspection) { inspection.publish(); });
    return 1;
  });
}

clr_rows* clr_query_info(clr_runtime* runtime, int counts, clr_error* error) {
  return query(runtime, error, [&] { return info_rows(counts != 0); });
}

clr_rows* clr_query_address(clr_runtime* runtime, uint64_t address, clr_error* error) {
  return query(runtime, error, [&] { return address_rows(address); });
}

clr_rows* clr_query_methods(clr_runtime* runtime, const char* pattern, uint32_t kinds, clr_error* error) {
  return query(runtime, error, [&] {
    return method_rows({.glob = pattern == nullptr ? "" : pattern,
                        .jitted = (kinds & CLR_METHODS_JITTED) != 0,
                        .r2r = (kinds & CLR_METHODS_R2R) != 0});
  });
}

clr_rows* clr_query_modules(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return module_rows(); });
}

clr_rows* clr_query_threads(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return thread_rows(); });
}

clr_rows* clr_query_frames(clr_runtime* runtime, uint64_t os_id, size_t limit, uint32_t flags,
                           clr_error* error) {
  return query(runtime, error, [&] {
    StackReporter::Options options;
    if (limit != 0) options.max_frames = limit;
    options.runtime_frames = (flags & CLR_FRAMES_RUNTIME) != 0;
    options.registers = (flags & CLR_FRAMES_REGISTERS) != 0;
    options.lines = (flags & CLR_FRAMES_LINES) != 0;
    return frame_rows(os_id, options);
  });
}

clr_rows* clr_query_exception(clr_runtime* runtime, uint64_t object, clr_error* error) {
  return query(runtime, error, [&] { return exception_rows(object); });
}

clr_rows* clr_query_object(clr_runtime* runtime, uint64_t object, const char* path, size_t items,
                           clr_error* error) {
  return query(runtime, error, [&] { return object_rows(object, path == nullptr ? "" : path, items); });
}

clr_rows* clr_query_statics(clr_runtime* runtime, const char* pattern, uint64_t os_id, clr_error* error) {
  return query(runtime, error, [&] { return static_rows(pattern == nullptr ? "" : pattern, os_id); });
}

clr_rows* clr_query_unwind(clr_runtime* runtime, uint64_t address, clr_error* error) {
  return query(runtime, error, [&] { return unwind_rows(address); });
}

clr_rows* clr_query_gc_info(clr_runtime* runtime, uint64_t address, clr_error* error) {
  return query(runtime, error, [&] { return gc_info_rows(address); });
}

clr_rows* clr_query_roots(clr_runtime* runtime, uint64_t os_id, clr_error* error) {
  return query(runtime, error, [&] { return root_rows(os_id); });
}

clr_rows* clr_query_async(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return async_rows(); });
}

clr_rows* clr_query_locks(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return lock_rows(); });
}

clr_rows* clr_query_deadlocks(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return deadlock_rows(); });
}

clr_rows* clr_query_analysis(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return analysis_rows(); });
}

clr_rows* clr_query_waits(clr_runtime* runtime, clr_error* error) {
  return query(runtime, error, [] { return wait_rows(); });
}

clr_rows* clr_query_versions(clr_runtime* runtime, uint64_t method_desc, clr_error* error) {
  return query(runtime, error, [&] { return version_rows(method_desc); });
}

clr_rows* clr_query_save_core(clr_runtime* runtime, const char* path, int all_methods, clr_error* error) {
  return query(runtime, error, [&] {
    require(path, "no path is given");
    return save_core_rows(path, all_methods != 0 ? CLR_SAVE_ALL_METHODS : 0);
  });
}

clr_rows* clr_query_small_core(clr_runtime* runtime, const char* path, uint32_t flags, clr_error* error) {
  return query(runtime, error, [&] {
    require(path, "no path is given");
    constexpr uint32_t known = CLR_SAVE_ALL_METHODS | CLR_SAVE_HEAP | CLR_SAVE_VALUES;
    if ((flags & ~known) != 0)
      throw Error(ErrorKind::invalid_argument, fmt::format("the flags {:#x} are not known", flags & ~known));
    return save_core_rows(path, flags);
  });
}

int clr_rows_next(clr_rows* rows, const char** json, size_t* size, clr_error* error) {
  return guarded(error, -1, [&] {
    require(rows, "no rows are given");
    require(json, "no place for the rows is given");
    require(size, "no place for the size is given");
    const std::string* batch = rows->stream.next();
    if (batch == nullptr) return 0;
    *json = batch->data();
    *size = batch->size();
    return 1;
  });
}

void clr_rows_close(clr_rows* rows) {
  delete rows;
}

clr_symbols* clr_symbolize(clr_runtime* runtime, const uint64_t* addresses, size_t count, uint32_t flags,
                           clr_error* error) {
  return guarded(error, static_cast<clr_symbols*>(nullptr), [&] {
    require(runtime, "no runtime is given");
    if (count != 0) require(addresses, "no addresses are given");
    clr_symbols* made = nullptr;
    runtime->inspection.visit([&](Inspection& inspection) {
      made = new clr_symbols{symbolize(inspection, {addresses, count}, (flags & CLR_SYMBOLS_LINES) != 0)};
    });
    return made;
  });
}

const uint32_t* clr_symbols_owners(const clr_symbols* symbols) {
  return symbols == nullptr ? nullptr : symbols->answer.owner.data();
}

const uint64_t* clr_symbols_offsets(const clr_symbols* symbols) {
  return symbols == nullptr ? nullptr : symbols->answer.offset.data();
}

const clr_place* clr_symbols_places(const clr_symbols* symbols) {
  return symbols == nullptr || symbols->answer.places.empty() ? nullptr : symbols->answer.places.data();
}

const char* clr_symbols_json(const clr_symbols* symbols, size_t* size) {
  if (symbols == nullptr) return nullptr;
  if (size != nullptr) *size = symbols->answer.owners.size();
  return symbols->answer.owners.c_str();
}

const char* clr_symbols_files(const clr_symbols* symbols, size_t* size) {
  if (symbols == nullptr) return nullptr;
  if (size != nullptr) *size = symbols->answer.files.size();
  return symbols->answer.files.c_str();
}

void clr_symbols_close(clr_symbols* symbols) {
  delete symbols;
}

} // extern "C"
