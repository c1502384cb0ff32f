#include "core/report/json.h"

#include "core/memory/utf8.h"
#include "core/runtime/runtime.h"
#include "core/stack/unwind_report.h"
#include "core/types/user_method.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr {

std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

namespace {
Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json optional_count(const std::optional<std::size_t>& count) {
  return count ? Json(*count) : Json(nullptr);
}

Json miss_to_json(const MissAnswer& miss) {
  Json json;
  json["result"] = "miss";
  json["reason"] = to_string(miss.reason);
  json["text"] = miss.text;
  if (miss.method) json["method"] = to_json(*miss.method);
  if (!miss.module.empty()) json["module"] = miss.module;
  if (!miss.symbol.empty()) json["symbol"] = miss.symbol;
  return json;
}

Json fault_to_json(const FaultAnswer& fault) {
  Json json;
  json["result"] = "fault";
  json["reason"] = to_string(fault.kind);
  if (fault.at) json["at"] = hex(*fault.at);
  json["text"] = fault.text;
  return json;
}

Json method_to_json(const MethodAnswer& answer) {
  Json json;
  json["result"] = "method";
  json["method"] = to_json(answer.method);
  json["code"] = to_json(answer.code);
  if (answer.source) json["source"] = to_json(*answer.source);
  return json;
}
} // namespace

Json to_json(const Method& method) {
  Json json;
  json["name"] = text_or_null(method.name);
  json["full_name"] = text_or_null(method.full_name);
  json["sos_name"] = method.sos_name();
  json["signature_known"] = method.signature_known;
  json["module"] = text_or_null(method.module);
  if (!method.module_path.empty()) json["module_path"] = method.module_path;
  if (method.token != 0) json["token"] = hex(method.token);
  if (method.method_desc != 0) json["method_desc"] = hex(method.method_desc);
  if (method.method_table != 0) json["method_table"] = hex(method.method_table);
  json["name_from"] = to_string(method.name_from);
  json["kind"] = to_string(method.kind);
  if (!method.degraded.empty()) json["degraded"] = method.degraded;
  if (method.user) {
    Json user;
    user["full_name"] = method.user->full_name;
    user["mark"] = method.user->mark;
    user["token"] = method.user->token != 0 ? Json(hex(method.user->token)) : Json(nullptr);
    json["user_method"] = std::move(user);
  }
  return json;
}

Json to_json(const runtime::Code& code) {
  Json json;
  json["kind"] = to_string(code.kind);
  const auto tier = to_string(code.tier);
  json["tier"] = tier ? Json(*tier) : Json(nullptr);
  json["start"] = hex(code.start);
  if (code.offset) json["offset"] = *code.offset;
  Json regions = Json::array();
  for (const CodeRegion& region : code.regions) {
    Json part;
    part["part"] = to_string(region.part);
    part["start"] = hex(region.start);
    part["size"] = region.size;
    regions.push_back(std::move(part));
  }
  json["regions"] = code.regions.empty() ? Json(nullptr) : std::move(regions);
  if (code.funclet) json["funclet"] = hex(*code.funclet);
  if (!code.fault.empty()) json["fault"] = code.fault;
  return json;
}

Json to_json(const SourceLine& source) {
  Json json;
  json["il_offset"] = source.il_offset;
  if (!source.file.empty()) {
    json["file"] = source.file;
    json["line"] = source.line;
    json["column"] = source.column;
  }
  return json;
}

Json to_json(const runtime::Answer& answer) {
  Json json;
  json["address"] = hex(answer.address);
  const Json result = [&] {
    if (const auto* method = std::get_if<MethodAnswer>(&answer.result)) return method_to_json(*method);
    if (const auto* miss = std::get_if<MissAnswer>(&answer.result)) return miss_to_json(*miss);
    return fault_to_json(std::get<FaultAnswer>(answer.result));
  }();
  json.update(result);
  return json;
}

Json to_json(const MethodRow& row) {
  Json json;
  json["method"] = to_json(row.method);
  json["code"] = to_json(row.code);
  return json;
}

Json to_json(const FrameRow& frame) {
  Json json;
  json["index"] = frame.index;
  json["kind"] = frame.kind;
  if (frame.ip != 0 || frame.frame_type.empty()) json["ip"] = hex(frame.ip); // explicit Frames have none
  json["sp"] = frame.sp ? Json(hex(*frame.sp)) : Json(nullptr);
  json["found_by"] = frame.found_by;
  json["text"] = text_of(frame);
  if (frame.answer) {
    json["method"] = to_json(frame.answer->method);
    json["code"] = to_json(frame.answer->code);
    if (frame.answer->source) json["source"] = to_json(*frame.answer->source);
  } else if (frame.method) {
    json["method"] = to_json(*frame.method);
  }
  if (!frame.module.empty()) json["module"] = frame.module;
  if (!frame.symbol.empty()) json["symbol"] = frame.symbol;
  if (!frame.frame_type.empty()) json["frame_type"] = frame.frame_type;
  json["repeat"] = 1;
  if (!frame.fault.empty()) json["fault"] = frame.fault;
  if (frame.registers) {
    const Cpu cpu = frame.registers->cpu();
    Json registers = Json::object();
    for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg)
      if (const auto value = frame.registers->find(reg))
        registers[std::string(register_name(cpu, reg))] = hex(*value);
    json["registers"] = std::move(registers);
  }
  return json;
}

Json to_json(const ThreadRow& thread) {
  Json json;
  json["index"] = thread.index;
  json["os_id"] = thread.os_id;
  if (thread.managed_id) json["managed_id"] = *thread.managed_id;
  if (!thread.name.empty()) json["name"] = thread.name;
  json["selected"] = thread.selected;
  return json;
}

Json to_json(const ModuleDescription& module) {
  Json json;
  json["name"] = text_or_null(module.name);
  if (!module.path.empty()) json["path"] = module.path;
  json["address"] = hex(module.module);
  if (module.base != 0) json["base"] = hex(module.base);
  json["r2r"] = module.r2r;
  json["composite"] = module.composite;
  json["methods"] = module.method_count ? Json(*module.method_count) : Json(nullptr);
  json["mvid"] = text_or_null(module.mvid);
  return json;
}

Json to_json(const RuntimeInfo& info) {
  Json json;
  json["schema"] = json_schema;
  Json runtime;
  runtime["name"] = text_or_null(info.name);
  runtime["version"] = text_or_null(info.version);
  runtime["os"] = text_or_null(info.os);
  runtime["cpu"] = text_or_null(info.cpu);
  json["runtime"] = std::move(runtime);
  if (info.descriptor != 0) {
    Json descriptor;
    descriptor["address"] = hex(info.descriptor);
    descriptor["found_in"] = text_or_null(info.found_in);
    descriptor["found_by"] = text_or_null(info.found_by);
    json["descriptor"] = std::move(descriptor);
  }
  Json contracts = Json::object();
  for (const ContractInfo& contract : info.contracts) {
    Json entry;
    entry["version"] = text_or_null(contract.version);
    entry["used"] = contract.used;
    contracts[contract.name] = std::move(entry);
  }
  json["contracts"] = std::move(contracts);
  Json supplements = Json::array();
  for (const Supplement& supplement : info.supplements) {
    Json entry;
    entry["type"] = supplement.type;
    entry["field"] = supplement.field;
    entry["value"] = supplement.value;
    entry["source"] = supplement.source;
    supplements.push_back(std::move(entry));
  }
  json["supplements"] = std::move(supplements);
  json["range_sections"] = optional_count(info.range_sections);
  json["code_heaps"] = optional_count(info.code_heaps);
  json["jitted_methods"] = optional_count(info.jitted_methods);
  json["r2r_functions"] = optional_count(info.r2r_functions);
  Json modules = Json::array();
  for (const ModuleDescription& module : info.modules) modules.push_back(to_json(module));
  json["modules"] = std::move(modules);
  json["problems"] = info.problems;
  return json;
}

Json to_json(const UnwindReport& report) {
  const auto place = [&](const RegisterOffset& at) {
    return Json{{"register", saved_register_name(report.cpu, at.reg)}, {"offset", at.offset}};
  };
  Json json;
  json["source"] = to_string(report.source);
  Json records = Json::array();
  for (const UnwindRecord& record : report.records) {
    Json entry;
    if (record.function != 0) entry["runtime_function"] = hex(record.function);
    entry["begin"] = hex(record.begin);
    entry["end"] = hex(record.end);
    if (record.unwind_info != 0) entry["unwind_info"] = hex(record.unwind_info);
    entry["version"] = record.version;
    entry["details"] = record.details;
    Json codes = Json::array();
    for (const UnwindStep& step : record.steps) {
      Json code;
      if (step.prologue_offset) code["prologue_offset"] = *step.prologue_offset;
      code["op"] = step.op;
      if (!step.what.empty()) code["what"] = step.what;
      codes.push_back(std::move(code));
    }
    entry["codes"] = std::move(codes);
    records.push_back(std::move(entry));
  }
  if (!report.records.empty()) json["records"] = std::move(records);
  json["cfa"] = report.layout.outermost ? Json(nullptr) : place(report.layout.cfa);
  Json saved = Json::array();
  for (const SavedRegister& one : report.layout.saved) {
    Json entry;
    entry["register"] = saved_register_name(report.cpu, one.reg);
    entry["at"] = place(one.at);
    const auto offset = report.layout.offset_from_cfa(one);
    entry["offset_from_cfa"] = offset ? Json(*offset) : Json(nullptr);
    saved.push_back(std::move(entry));
  }
  json["saved"] = std::move(saved);
  return json;
}

std::string dump(const Json& value) {
  // It escapes C0 only.
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), Escape::json);
}

void JsonList::add(const Json& element) {
  sink_(empty_ ? "[\n" : ",\n");
  empty_ = false;
  sink_(dump(element));
}

void JsonList::end() {
  sink_(empty_ ? "[]" : "\n]");
}

} // namespace clr
