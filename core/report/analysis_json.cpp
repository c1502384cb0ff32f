#include "core/report/analysis_json.h"

#include "core/runtime/presence.h"

#include <nlohmann/json.hpp>

namespace clr {

Json analysis_json(const TroubleReport* trouble, Runtime& runtime, const AnalyzedProcess& process,
                   const MemoryReport& memory) {
  Json json = trouble != nullptr ? to_json(*trouble)
                                 : Json{{"verdict", "unknown"},      {"verdicts", {"unknown"}},
                                        {"certain", false},          {"text", absence_text(runtime)},
                                        {"evidence", Json::array()}, {"missing", Json::array()},
                                        {"waiting", Json::array()}};
  json["sentence"] = trouble != nullptr ? Json(verdict_text(*trouble)) : json["text"];
  json["process"] = process.id;
  json["threads"] = process.threads;
  if (process.thread != 0)
    json["thread"] = {{"index", process.thread}, {"os_id", process.os_id}, {"why", process.why}};
  for (const std::string& note : memory.notes) json["missing"].push_back(note);
  for (const std::string& file : memory.refusals) json["missing"].push_back(file);
  return json;
}

} // namespace clr
