#include "core/report/lock_json.h"

#include "core/report/json_values.h"

namespace clr {
namespace {

Json holder_json(const LockHolder& holder) {
  return {{"os_id", value_or_null(holder.os_id)}, {"managed_id", value_or_null(holder.managed_id)}};
}

Json waiter_json(const LockRow& row, const ThreadStack& stack, const ThreadWait& wait, LockReporter& locks) {
  Json json{{"os_id", wait.os_id},
            {"managed_id", stack.thread == nullptr ? Json() : value_or_null(stack.thread->managed_id)},
            {"mode", to_string(wait.mode)},
            {"certain", wait.certain}};
  if (wait.objects.size() > 1) json["any"] = wait.any;
  if (wait.timeout_ms) json["timeout_ms"] = *wait.timeout_ms;
  if (const auto place = locks.place_of(wait)) {
    json["method"] = to_json(place->method);
    json["source"] = place->source ? to_json(*place->source) : Json();
  }
  if (row.state.kind == LockKind::class_init) json["certain"] = false;
  return json;
}

} // namespace

Json to_json(const LockRow& row, LockReporter& locks) {
  const LockState& state = row.state;
  const std::string type = locks.type_of(state);
  Json json{{"object", hex(state.object)},
            {"type", type.empty() ? Json() : Json(type)},
            {"kind", to_string(state.kind)}};
  if (state.kind == LockKind::monitor) json["form"] = state.thin ? "thin" : "sync_block";
  json["owner"] = row.owner ? holder_json(*row.owner) : Json();
  json["owner_known"] = state.owner_known;
  if (row.owner) json["recursion"] = state.entries;
  if (state.upgradeable) json["upgradeable"] = true;
  if (state.kind == LockKind::rwlock) {
    json["reader_count"] = row.fault.empty() ? Json(state.reader_count) : Json();
    json["readers"] = Json::array();
    for (const LockHolder& reader : row.readers)
      if (reader.os_id) json["readers"].push_back(*reader.os_id);
  }
  if (state.waiters) json["waiter_count"] = *state.waiters;
  if (!state.text.empty()) json["text"] = state.text;
  json["waiters"] = Json::array();
  const LockTable& table = locks.table();
  for (const std::size_t i : row.waiters)
    json["waiters"].push_back(waiter_json(row, table.stacks[i], table.waits[i], locks));
  if (!row.fault.empty()) json["fault"] = row.fault;
  return json;
}

Json waits_for_json(const ThreadWait& wait, LockReporter& locks) {
  const std::string text = locks.wait_text(wait);
  if (text.empty()) return {};
  Json json;
  switch (wait.what) {
  case ThreadWait::What::objects:
    json["kind"] = to_string(wait.kind);
    break;
  case ThreadWait::What::sleep:
    json["kind"] = "sleep";
    break;
  case ThreadWait::What::idle:
    json["kind"] = "idle";
    break;
  default:
    json["kind"] = "native";
  }
  if (wait.objects.size() == 1) json["object"] = hex(wait.objects.front().object);
  if (wait.objects.size() > 1) {
    json["objects"] = Json::array();
    for (const WaitedObject& object : wait.objects) json["objects"].push_back(hex(object.object));
    json["any"] = wait.any;
  }
  json["text"] = text;
  json["certain"] = wait.certain;
  if (wait.timeout_ms) json["timeout_ms"] = *wait.timeout_ms;
  return json;
}

} // namespace clr
