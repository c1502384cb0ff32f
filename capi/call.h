// What all functions of include/lldb_clr.h share: handles, and exceptions that become errors.
#pragma once

#include "capi/queries.h"
#include "core/memory/error.h"
#include "include/lldb_clr.h"

#include <new>

struct clr_runtime {
  clr::capi::SharedInspection inspection;
};

struct clr_rows {
  clr::capi::RowStream stream;
};

namespace clr::capi {

int32_t status_of(ErrorKind kind);
// `error` may be null.
void set(clr_error* error, int32_t status, const char* text, std::optional<Address> address = {});

// Returns the result of `call`. When `call` throws, returns `failed` and fills in the error.
template<typename Result, typename Call>
Result guarded(clr_error* error, Result failed, const Call& call) noexcept {
  set(error, CLR_OK, "");
  try {
    return call();
  } catch (const Error& e) {
    set(error, status_of(e.kind()), e.what(), e.address());
  } catch (const Stale& e) {
    set(error, CLR_STALE, e.what());
  } catch (const std::bad_alloc&) {
    set(error, CLR_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    set(error, CLR_INTERNAL, e.what());
  } catch (...) {
    set(error, CLR_INTERNAL, "unknown failure");
  }
  return failed;
}

template<typename Value>
void require(const Value* argument, const char* what) {
  if (argument == nullptr) throw Error(ErrorKind::invalid_argument, what);
}

// `make` returns the producer of the rows.
template<typename Make>
clr_rows* query(clr_runtime* runtime, clr_error* error, const Make& make) {
  return guarded(error, static_cast<clr_rows*>(nullptr), [&] {
    require(runtime, "no runtime is given");
    clr_rows* rows = nullptr;
    runtime->inspection.visit([&](Inspection&) { rows = new clr_rows{{runtime->inspection, make()}}; });
    return rows;
  });
}

} // namespace clr::capi
