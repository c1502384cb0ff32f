#include "core/report/holders_json.h"

#include "core/report/heap_json.h"
#include "core/report/json_writer.h"
#include "core/report/root_json.h"

#include <nlohmann/json.hpp>

namespace clr {

namespace {

Json known_text(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

// Without the object, which the row has where it is one.
Json retained_root_json(const HeapRoot& root) {
  Json json{{"kind", root.kind == HeapRoot::Kind::stack ? "thread" : to_string(root.kind)}};
  if (root.kind == HeapRoot::Kind::static_field) json["name"] = known_text(root.name);
  if (root.kind == HeapRoot::Kind::stack) json["thread"] = root.os_id;
  if (root.kind == HeapRoot::Kind::handle) json["handle_kind"] = to_string(root.handle_kind);
  if (root.slot) json["slot"] = hex(*root.slot);
  return json;
}

} // namespace

Json to_json(const GcHandle& handle, HeapHolders& holders) {
  Json json{{"handle", hex(handle.slot)},
            {"kind", to_string(handle.kind)},
            {"object", hex(handle.object)},
            {"type", known_text(holders.type_of(handle.object))}};
  if (handle.dependent != 0) json["dependent"] = hex(handle.dependent);
  return json;
}

void write_finalizers_json(HeapHolders& holders, const std::function<bool(std::string_view)>& write) {
  const FinalizerQueue& queue = holders.finalizers();
  std::string text;
  JsonWriter json(text);
  bool going = true;
  const auto list = [&](std::string_view name, const auto& objects, const auto& members) {
    json.key(name);
    json.begin_array();
    for (const auto& object : objects) {
      if (!going) break;
      json.begin_object();
      json.hex("object", object.object);
      members(object);
      json.text_or_null("type", holders.type_of(object.object));
      json.end_object();
      going = write(text);
      text.clear();
    }
    json.end_array();
  };
  json.begin_object();
  list("registered", queue.registered, [&](const FinalizerQueue::Registered& object) {
    json.key("generation");
    json.raw(dump(generation_json(object.part)));
  });
  list("ready", queue.ready,
       [&](const FinalizerQueue::Ready& object) { json.boolean("critical", object.critical); });
  json.end_object();
  write(text);
}

std::string out_json(const HeapReference& reference, HeapHolders& holders) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.hex("to", reference.to);
  json.text_or_null("field", reference.field);
  json.key("offset");
  reference.offset ? json.number(*reference.offset) : json.null();
  json.text_or_null("type", holders.type_of(reference.to));
  json.end_object();
  return text;
}

std::string in_json(const HeapReference& reference, HeapHolders& holders) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.hex("from", reference.from);
  json.text_or_null("field", reference.field);
  json.text_or_null("type", holders.type_of(reference.from));
  json.end_object();
  return text;
}

Json to_json(const HeapVerification& found) {
  Json json{{"sound", found.sound()},
            {"objects", found.objects},
            {"references", found.references},
            {"stray_references", found.stray_references}};
  json["gaps"] = Json::array();
  for (const HeapGap& gap : found.gaps)
    json["gaps"].push_back({{"address", hex(gap.address)}, {"bytes", gap.bytes}, {"why", gap.why}});
  json["strays"] = Json::array();
  for (const HeapGraph::Stray& stray : found.strays)
    json["strays"].push_back(
        {{"object", hex(stray.object)}, {"offset", stray.offset}, {"value", hex(stray.value)}});
  json["stray_handles"] = Json::array();
  for (const GcHandle& handle : found.stray_handles)
    json["stray_handles"].push_back({{"handle", hex(handle.slot)}, {"object", hex(handle.object)}});
  json["stray_finalizable"] = Json::array();
  for (const Address object : found.stray_finalizable) json["stray_finalizable"].push_back(hex(object));
  return json;
}

Json to_json(const HeapRoot& root) {
  Json json;
  if (root.stack != nullptr) {
    std::string text;
    JsonWriter writer(text);
    write_json(writer, *root.stack);
    json = Json::parse(text);
  }
  // What a Frame of the runtime's holds has said so.
  if (!json.contains("kind") || root.kind != HeapRoot::Kind::stack) json["kind"] = to_string(root.kind);
  json["object"] = hex(root.object);
  if (root.slot) json["slot"] = hex(*root.slot);
  if (root.kind == HeapRoot::Kind::handle) json["handle_kind"] = to_string(root.handle_kind);
  if (root.kind == HeapRoot::Kind::static_field) json["name"] = root.name;
  if (root.kind == HeapRoot::Kind::thread_static || root.kind == HeapRoot::Kind::stack)
    json["thread"] = root.os_id;
  return json;
}

Json root_json(const HeapRoot& root, const std::string& type) {
  Json json = to_json(root);
  json["type"] = known_text(type);
  return json;
}

Json to_json(const HeapPath& path) {
  Json steps = Json::array();
  for (const HeapStep& step : path.steps) {
    Json json{{"object", hex(step.object)}, {"type", known_text(step.type)}};
    if (!steps.empty()) json["field"] = known_text(step.field);
    if (step.left_out != 0) json["left_out"] = step.left_out;
    steps.push_back(std::move(json));
  }
  return {{"root", to_json(path.root)}, {"steps", std::move(steps)}};
}

Json to_json(const RetainedRow& row) {
  Json json = Json::object();
  if (row.object != 0) json["object"] = hex(row.object);
  if (!row.type.empty()) json["type"] = row.type;
  if (!row.assembly.empty()) json["assembly"] = row.assembly;
  if (!row.field.empty()) json["root"] = {{"kind", "static"}, {"name", row.field}};
  if (row.root) json["root"] = retained_root_json(*row.root);
  json["count"] = row.count;
  json["bytes"] = row.bytes;
  json["retained"] = row.retained;
  return json;
}

Json to_json(const RetainedObject& found) {
  Json json = to_json(found.row);
  json["alive"] = found.alive;
  json["reachable"] = {{"count", found.leads_to}, {"bytes", found.reachable}};
  json["holder"] =
      found.holder == 0 ? Json() : Json{{"object", hex(found.holder)}, {"type", found.holder_type}};
  return json;
}

} // namespace clr
