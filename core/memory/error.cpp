#include "core/memory/error.h"

#include <fmt/format.h>

namespace clr {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::memory_missing:
    return "memory_missing";
  case ErrorKind::corrupt:
    return "corrupt";
  case ErrorKind::unsupported_contract:
    return "unsupported_contract";
  case ErrorKind::invalid_argument:
    return "invalid_argument";
  case ErrorKind::io:
    return "io";
  case ErrorKind::register_unknown:
    return "register_unknown";
  case ErrorKind::no_process:
    return "no_process";
  case ErrorKind::process_running:
    return "process_running";
  case ErrorKind::busy:
    return "busy";
  case ErrorKind::interrupted:
    return "interrupted";
  case ErrorKind::internal:
    return "internal";
  }
  return "internal";
}

void throw_missing(Address at) {
  throw Error(ErrorKind::memory_missing, at, fmt::format("memory at {:#x} is not available", at));
}

void throw_corrupt(Address at, std::string_view what) {
  throw Error(ErrorKind::corrupt, at, fmt::format("{} at {:#x}", what, at));
}

} // namespace clr
