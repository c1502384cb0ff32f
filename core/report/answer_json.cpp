#include "core/report/answer_json.h"

#include "core/runtime/runtime.h"
#include "core/types/user_method.h"

#include <fmt/format.h>

namespace clr {
namespace {

template<typename Value>
void member(JsonWriter& json, std::string_view name, const Value& value) {
  json.key(name);
  write_json(json, value);
}

void write_members(JsonWriter& json, const MethodAnswer& answer, bool with_source) {
  member(json, "method", answer.method);
  member(json, "code", answer.code);
  if (with_source && answer.source) member(json, "source", *answer.source);
}

void write_members(JsonWriter& json, const MissAnswer& miss) {
  json.text("result", "miss");
  json.text("reason", to_string(miss.reason));
  json.text("text", miss.text);
  if (miss.method) member(json, "method", *miss.method);
  if (!miss.module.empty()) json.text("module", miss.module);
  if (!miss.symbol.empty()) json.text("symbol", miss.symbol);
}

void write_members(JsonWriter& json, const FaultAnswer& fault) {
  json.text("result", "fault");
  json.text("reason", to_string(fault.kind));
  if (fault.at) json.hex("at", *fault.at);
  json.text("text", fault.text);
}

void write_members(JsonWriter& json, const runtime::Answer& answer, bool with_source) {
  if (const auto* method = std::get_if<MethodAnswer>(&answer.result)) {
    json.text("result", "method");
    write_members(json, *method, with_source);
  } else if (const auto* miss = std::get_if<MissAnswer>(&answer.result)) {
    write_members(json, *miss);
  } else {
    write_members(json, std::get<FaultAnswer>(answer.result));
  }
}

void write_registers(JsonWriter& json, const RegisterContext& registers) {
  const Cpu cpu = registers.cpu();
  json.key("registers");
  json.begin_object();
  for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg)
    if (const auto value = registers.find(reg)) json.hex(register_name(cpu, reg), *value);
  json.end_object();
}

} // namespace

void write_json(JsonWriter& json, const Method& method) {
  json.begin_object();
  json.text_or_null("name", method.name);
  json.text_or_null("full_name", method.full_name);
  json.text("sos_name", method.sos_name());
  json.boolean("signature_known", method.signature_known);
  json.text_or_null("module", method.module);
  if (!method.module_path.empty()) json.text("module_path", method.module_path);
  if (method.token != 0) json.hex("token", method.token);
  if (method.method_desc != 0) json.hex("method_desc", method.method_desc);
  if (method.method_table != 0) json.hex("method_table", method.method_table);
  json.text("name_from", to_string(method.name_from));
  json.text("kind", to_string(method.kind));
  if (method.runtime_async) json.boolean("runtime_async", true);
  if (!method.degraded.empty()) json.text("degraded", method.degraded);
  if (method.user) {
    json.key("user_method");
    json.begin_object();
    json.text("full_name", method.user->full_name);
    json.text("mark", method.user->mark);
    method.user->token != 0 ? json.hex("token", method.user->token) : json.null("token");
    json.end_object();
  }
  json.end_object();
}

void write_json(JsonWriter& json, const runtime::Code& code) {
  json.begin_object();
  json.text("kind", to_string(code.kind));
  const auto tier = to_string(code.tier);
  tier ? json.text("tier", *tier) : json.null("tier");
  code.start != 0 ? json.hex("start", code.start) : json.null("start");
  if (code.offset) json.number("offset", *code.offset);
  if (code.regions.empty()) {
    json.null("regions");
  } else {
    json.key("regions");
    json.begin_array();
    for (const CodeRegion& region : code.regions) {
      json.begin_object();
      json.text("part", to_string(region.part));
      json.hex("start", region.start);
      json.number("size", region.size);
      json.end_object();
    }
    json.end_array();
  }
  if (code.funclet) json.hex("funclet", *code.funclet);
  if (!code.fault.empty()) json.text("fault", code.fault);
  json.end_object();
}

void write_json(JsonWriter& json, const SourceLine& source) {
  json.begin_object();
  json.number("il_offset", source.il_offset);
  if (!source.file.empty()) {
    json.text("file", source.file);
    json.number("line", source.line);
    json.number("column", source.column);
  }
  json.end_object();
}

void write_json(JsonWriter& json, const runtime::Answer& answer) {
  json.begin_object();
  json.hex("address", answer.address);
  write_members(json, answer, true);
  json.end_object();
}

void write_shared_members(JsonWriter& json, const runtime::Answer& answer) {
  write_members(json, answer, false);
}

void write_json(JsonWriter& json, const MethodRow& row) {
  json.begin_object();
  member(json, "method", row.method);
  member(json, "code", row.code);
  json.end_object();
}

void write_members(JsonWriter& json, const ThreadRow& thread) {
  json.number("index", thread.index);
  json.number("os_id", thread.os_id);
  if (thread.managed_id) json.number("managed_id", *thread.managed_id);
  if (!thread.name.empty()) json.text("name", thread.name);
  json.boolean("selected", thread.selected);
}

const FrameJson::Known& FrameJson::known(const std::shared_ptr<const MethodAnswer>& answer) {
  if (known_.size() >= max_known) known_.clear();
  Known& known = known_[answer.get()];
  if (known.answer) return known;
  known.answer = answer;
  append_json_text(known.text, text_behind_address(*answer));
  JsonWriter json(known.members);
  write_members(json, *answer, true);
  return known;
}

void FrameJson::write(JsonWriter& json, const FrameRow& frame, unsigned repeat) {
  json.begin_object();
  json.number("index", frame.index);
  json.text("kind", frame.kind);
  if (frame.ip != 0 || frame.frame_type.empty()) json.hex("ip", frame.ip); // explicit Frames have none
  frame.sp ? json.hex("sp", *frame.sp) : json.null("sp");
  json.text("found_by", frame.found_by);
  if (frame.answer) {
    const Known& shared = known(frame.answer);
    json.key("text");
    if (frame.exact)
      json.text(text_of(frame));
    else
      json.raw(fmt::format("\"{:#018x}{}\"", frame.ip, shared.text));
    json.raw(shared.members);
    if (frame.exact) {
      json.key("instantiation");
      json.begin_object();
      member(json, "method", frame.exact->method);
      json.text("from", origin_of(*frame.exact));
      json.end_object();
    }
  } else {
    json.text("text", text_of(frame));
    if (frame.method) member(json, "method", *frame.method);
  }
  if (!frame.module.empty()) json.text("module", frame.module);
  if (!frame.symbol.empty()) json.text("symbol", frame.symbol);
  if (!frame.frame_type.empty()) json.text("frame_type", frame.frame_type);
  json.number("repeat", repeat);
  if (const std::string_view folded = folded_as(frame); !folded.empty()) json.text("folded", folded);
  if (!frame.fault.empty()) json.text("fault", frame.fault);
  if (frame.registers) write_registers(json, *frame.registers);
  json.end_object();
}

} // namespace clr
