#include "core/report/memory_report.h"

#include "core/memory/count_text.h"
#include "core/report/core_origin.h"
#include "core/runtime/core_session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr {

MemoryReport memory_report(const CoreSession& session) {
  const std::string origin = origin_of(session.core());
  MemoryReport report{
      .source = fmt::format("core {}{}{}", session.core().path(), origin.empty() ? "" : ", ", origin),
      .pages_filled = session.pages_used(),
      .files = {},
      .refusals = {},
      .notes = session.problems()};
  for (const FileOverlay::FileUse& use : session.overlay().files())
    if (use.refusal.empty())
      report.files.push_back(
          fmt::format("{}: {}; {}", use.host_path, count_text(use.pages, "page"), use.proof));
    else if (use.missed_reads != 0)
      report.refusals.push_back(fmt::format("{}: {}", use.target_path, use.refusal));
  return report;
}

Json to_json(const MemoryReport& report) {
  Json json;
  json["source"] = report.source;
  json["pages_filled"] = report.pages_filled;
  json["files"] = report.files;
  json["refusals"] = report.refusals;
  json["notes"] = report.notes;
  return json;
}

} // namespace clr
