// The answer of `clr analyze --json`.
#pragma once

#include "core/report/json.h"
#include "core/report/memory_report.h"
#include "core/report/trouble_report.h"
#include "core/runtime/runtime.h"

#include <cstdint>
#include <optional>
#include <string>

namespace clr {

// What a debugger or a core tells of the process.
struct AnalyzedProcess {
  std::uint64_t id = 0; // of the system; 0: not known
  std::size_t threads = 0;
  // The thread at which to look first; index 0: none is known.
  unsigned thread = 0;
  std::uint64_t os_id = 0;
  std::string why; // "it had the signal"
};

// `trouble` is null when there is no runtime to ask. No reads.
Json analysis_json(const TroubleReport* trouble, Runtime& runtime, const AnalyzedProcess& process,
                   const MemoryReport& memory);

} // namespace clr
