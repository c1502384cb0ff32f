#include "core/report/root_json.h"

#include "core/isa/registers.h"
#include "core/report/answer_json.h"
#include "core/report/json.h"

namespace clr {

void write_json(JsonWriter& json, const RootRow& row) {
  const StackRoot& root = row.root;
  json.begin_object();
  const bool managed = row.header != nullptr;
  json.text("kind", managed ? "stack" : "frame");
  json.key("object");
  row.object ? json.hex(*row.object) : json.null();
  if (!root.slot.interior) json.text_or_null("type", row.type);
  json.hex("value", root.value);
  if (root.address) json.hex("slot", *root.address);
  if (root.slot.reg) {
    json.text("register", register_name(row.cpu, *root.slot.reg));
  } else if (managed) {
    json.text("base", to_string(root.slot.base));
    json.key("offset");
    json.raw(std::to_string(root.slot.offset));
  }
  json.number("thread", row.os_id);
  json.number("frame", row.frame);
  if (managed) json.hex("ip", row.ip);
  json.hex("sp", row.sp);
  if (!managed) json.text("frame_type", row.frame_type);
  if (row.answer || row.method) {
    json.key("method");
    write_json(json, row.answer ? row.answer->method : *row.method);
  }
  json.boolean("interior", root.slot.interior);
  json.boolean("pinned", root.slot.pinned);
  json.boolean("untracked", root.slot.untracked);
  json.boolean("certain", root.why_uncertain.empty());
  if (!root.why_uncertain.empty()) json.text("why_uncertain", root.why_uncertain);
  json.end_object();
}

} // namespace clr
