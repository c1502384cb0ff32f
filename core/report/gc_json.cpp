#include "core/report/gc_json.h"

#include "core/isa/registers.h"

#include <nlohmann/json.hpp>

namespace clr {
namespace {

Json place_json(const GcHeader::Place& place) {
  return {{"base", to_string(place.base)}, {"offset", place.offset}};
}

void add_header(Json& json, const GcHeader& header, Cpu cpu) {
  if (header.frame_register) json["frame_register"] = register_name(cpu, *header.frame_register);
  if (header.prolog_end) json["prolog_end"] = *header.prolog_end;
  json["outgoing_area"] = header.outgoing_area;
  if (header.context) {
    Json& context = json["context"];
    context["kind"] = to_string(header.context->kind);
    context.update(place_json(header.context->place));
    context["valid_begin"] = *header.prolog_end;
  }
  if (header.cookie)
    json["gs_cookie"] = {{"offset", header.cookie->offset},
                         {"valid_begin", header.cookie->valid_begin},
                         {"valid_end", header.cookie->valid_end}};
  if (header.psp_symbol) json["psp_symbol"] = {{"base", "caller_sp"}, {"offset", *header.psp_symbol}};
  if (header.reverse_pinvoke) json["reverse_pinvoke"] = place_json(*header.reverse_pinvoke);
  if (header.enc_bytes) json["enc_bytes"] = *header.enc_bytes;
  if (header.enc_frame_size) json["enc_frame_size"] = *header.enc_frame_size;
  json["varargs"] = header.varargs;
  json["wants_leaf_only"] = header.wants_leaf_only;
  json["has_tail_calls"] = header.has_tail_calls;
}

Json slot_json(const GcReport& report, const GcSlot& slot) {
  Json json;
  json["kind"] = slot.reg ? "register" : "stack";
  if (slot.reg) {
    json["register"] = register_name(report.cpu, *slot.reg);
  } else {
    json["base"] = to_string(slot.base);
    json["offset"] = slot.offset;
  }
  json["interior"] = slot.interior;
  json["pinned"] = slot.pinned;
  json["untracked"] = slot.untracked;
  return json;
}

} // namespace

Json to_json(const GcReport& report) {
  Json json;
  json["address"] = hex(report.address);
  json["offset"] = report.offset;
  json["method"] = to_json(report.answer.method);
  json["code"] = to_json(report.answer.code);
  json["gc_info"] = hex(report.gc_info);
  json["version"] = report.version;
  json["code_length"] = report.code_length;
  if (!report.fault.empty()) json["fault"] = report.fault;
  if (!report.header) return json;
  json["size"] = report.size != 0 ? Json(report.size) : Json(nullptr);
  add_header(json, *report.header, report.cpu);
  Json slots = Json::array(), points = Json::array(), ranges = Json::array();
  for (const GcSlot& slot : report.slots.slots) slots.push_back(slot_json(report, slot));
  for (const GcReport::SafePoint& point : report.safe_points)
    points.push_back({{"offset", point.offset}, {"live", point.live}});
  for (const GcReport::Range& range : report.ranges) {
    Json changes = Json::array();
    for (const GcReport::Change& change : range.changes)
      changes.push_back({{"offset", change.offset}, {"slot", change.slot}, {"live", change.live}});
    ranges.push_back(
        {{"begin", range.range.begin}, {"end", range.range.end}, {"changes", std::move(changes)}});
  }
  json["slots"] = std::move(slots);
  json["safe_points"] = std::move(points);
  json["ranges"] = std::move(ranges);
  json["at"] = {{"spot", to_string(report.spot)}, {"live", report.live}};
  return json;
}

Json to_json(const GcMark& mark) {
  return {{"kind", to_string(mark.kind)}, {"slots", mark.slots}, {"text", mark.text}};
}

} // namespace clr
