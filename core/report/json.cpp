#include "core/report/json.h"

#include "core/memory/utf8.h"
#include "core/report/answer_json.h"
#include "core/runtime/runtime.h"
#include "core/stack/unwind_report.h"

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

// The tree of a value whose text is written by write_json.
template<typename Value>
Json tree_of(const Value& value) {
  return Json::parse(json_text(value));
}
} // namespace

Json to_json(const Method& method) {
  return tree_of(method);
}

Json to_json(const runtime::Code& code) {
  return tree_of(code);
}

Json to_json(const SourceLine& source) {
  return tree_of(source);
}

Json to_json(const runtime::Answer& answer) {
  return tree_of(answer);
}

Json to_json(const MethodRow& row) {
  return tree_of(row);
}

Json to_json(const FrameRow& frame) {
  std::string text;
  JsonWriter json(text);
  FrameJson().write(json, frame);
  return Json::parse(text);
}

Json to_json(const ThreadRow& thread) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_members(json, thread);
  json.end_object();
  return Json::parse(text);
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
    if (contract.used) entry["known"] = contract.known;
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

void JsonList::next() {
  sink_(empty_ ? "[\n" : ",\n");
  empty_ = false;
}

void JsonList::add(const Json& element) {
  add_text(dump(element));
}

void JsonList::add_text(std::string_view element) {
  next();
  sink_(element);
}

void JsonList::end() {
  sink_(empty_ ? "[]" : "\n]");
}

} // namespace clr
