#include "core/report/trouble_report.h"

#include "core/memory/count_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace clr {
namespace {

Json count_json(const StopChange::Count& count) {
  return {{"stood", count.stood}, {"moved", count.moved}};
}

Json group_json(const AwaitGroup& group) {
  Json json{{"count", group.count},
            {"requests", group.requests},
            {"method", to_json(*group.position->method)},
            {"waits_for", {{"kind", to_string(group.waits_for.kind)}, {"text", group.waits_for.text}}},
            {"text", text_of(group)}};
  if (group.position->source) json["source"] = to_json(*group.position->source);
  if (group.waits_for.object != 0) json["waits_for"]["object"] = hex(group.waits_for.object);
  if (!group.name.empty()) json["waits_for"]["name"] = group.name;
  if (!group.holder.empty()) json["holder"] = group.holder;
  return json;
}

} // namespace

std::string text_of(const SecondLook& look) {
  const StopChange& change = look.change;
  std::vector<std::string> parts;
  bool one = false; // the last part is of one
  const auto add = [&](const StopChange::Count& count, std::string_view who, std::string_view did) {
    if (count.all() == 0) return;
    parts.push_back(fmt::format("{} of {} {}", count.stood, count_text(count.all(), who), did));
    one = count.stood == 1;
  };
  add(change.chains, "async call", "that waited");
  add(change.blocked, "thread", "that waited");
  add(change.outside, "thread", "that waited for the outside");
  add(change.running, "thread", "that ran");
  const std::string_view found = change.finding == StopChange::Finding::hang   ? "it hangs"
                                 : change.finding == StopChange::Finding::wait ? "it waits, and goes on"
                                                                               : "nothing waited";
  if (parts.empty()) return fmt::format("{}: {:.1f} s later nothing is known to stand", found, look.seconds);
  return fmt::format("{}: {:.1f} s later {} {} not moved{}", found, look.seconds, fmt::join(parts, ", "),
                     one && parts.size() == 1 ? "has" : "have",
                     change.perhaps == 0   ? ""
                     : change.perhaps == 1 ? " (1 of the calls is equal, and a garbage collection has moved "
                                             "it, so it may be another one)"
                                           : fmt::format(" ({} of the calls are equal, and a garbage "
                                                         "collection has moved them, so they may be others)",
                                                         change.perhaps));
}

void add(const SecondLook& look, TroubleReport& report) {
  const bool hangs = look.change.finding == StopChange::Finding::hang;
  const Verdict verdict = report.verdicts.front();
  if (hangs &&
      (verdict == Verdict::waiting || verdict == Verdict::deadlock || verdict == Verdict::starvation))
    report.certain = report.certain || look.change.perhaps == 0;
}

Json to_json(const SecondLook& look) {
  Json chains = count_json(look.change.chains);
  chains["perhaps"] = look.change.perhaps;
  return {{"seconds", look.seconds},
          {"finding", to_string(look.change.finding)},
          {"text", text_of(look)},
          {"collected", look.change.collected},
          {"chains", std::move(chains)},
          {"blocked", count_json(look.change.blocked)},
          {"outside", count_json(look.change.outside)},
          {"running", count_json(look.change.running)}};
}

Json to_json(const TroubleReport& report) {
  Json json{{"verdict", to_string(report.verdicts.front())}, {"verdicts", Json::array()}};
  for (const Verdict verdict : report.verdicts) json["verdicts"].push_back(to_string(verdict));
  json["certain"] = report.certain;
  json["text"] = report.text;
  json["evidence"] = report.evidence;
  json["missing"] = report.missing;
  json["waiting"] = Json::array();
  for (const AwaitGroup& group : report.waiting) json["waiting"].push_back(group_json(group));
  if (!report.types.empty()) {
    Json types = Json::array();
    for (const HeapTypeRow& row : report.types)
      types.push_back({{"name", row.name}, {"count", row.count.objects}, {"bytes", row.count.bytes}});
    json["memory"] = {{"types", std::move(types)}};
    if (report.limit)
      json["memory"]["limit"] = {{"bytes", report.limit->bytes}, {"source", report.limit->source}};
  }
  return json;
}

} // namespace clr
