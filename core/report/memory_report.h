// The sources of the memory of a process or core, for `clr info`.
#pragma once

#include "core/report/json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace clr {

class CoreSession;

struct MemoryReport {
  // "process, by LLDB", "process, by LLDB and the kernel", or "core FILE" with what it says that it was made
  // from (core_origin.h).
  std::string source;
  std::uint64_t pages_filled = 0;    // pages fetched from the source
  std::vector<std::string> files;    // files on disk that replaced pages that the core lacks
  std::vector<std::string> refusals; // files that were not accepted, and why
  std::vector<std::string> notes;    // incomplete parts, and doubts about the source
};

// The report for a core up to now. No reads.
MemoryReport memory_report(const CoreSession& session);

Json to_json(const MemoryReport& report);

} // namespace clr
