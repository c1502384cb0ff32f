#include "core/report/async_json.h"

#include "core/report/answer_json.h"

namespace clr {

void write_json(JsonWriter& json, const AsyncStack& stack) {
  json.begin_object();
  json.number("count", stack.count());
  json.key("boxes");
  json.begin_array();
  for (const Address box : stack.boxes) json.hex(box);
  json.end_array();
  json.boolean("plumbing", stack.plumbing);
  json.boolean("faulted", false);
  stack.age_ms ? json.number("age_ms", *stack.age_ms) : json.null("age_ms");
  json.key("frames");
  json.begin_array();
  for (const AsyncFrame& frame : stack.frames) {
    json.begin_object();
    json.key("method");
    write_json(json, *frame.position->method);
    if (frame.position->source) {
      json.key("source");
      write_json(json, *frame.position->source);
      json.text("line_kind", frame.position->dispose ? "dispose" : "exact");
    }
    if (!frame.position->no_line.empty()) json.text("no_line", frame.position->no_line);
    json.key("state");
    frame.state >= 0 ? json.number(static_cast<std::uint64_t>(frame.state))
                     : json.raw(std::to_string(frame.state));
    json.hex("box", frame.box);
    json.end_object();
  }
  json.end_array();
  json.key("waits_for");
  json.begin_object();
  json.text("kind", to_string(stack.waits_for.kind));
  json.text("text", stack.waits_for.text);
  if (stack.waits_for.object != 0) json.hex("object", stack.waits_for.object);
  json.end_object();
  json.key("kept_by");
  json.begin_object();
  json.text("kind", to_string(stack.end));
  if (stack.end == AsyncChain::End::thread) {
    json.hex("object", stack.blocker);
    json.key("thread");
    stack.os_id ? json.number(*stack.os_id) : json.null();
  }
  json.end_object();
  json.end_object();
}

void write_members(JsonWriter& json, const AsyncBeside& beside) {
  json.key("async_callers");
  json.begin_array();
  for (const AsyncBeside::Callers& callers : beside.callers) {
    json.begin_object();
    json.number("frame", callers.frame);
    json.key("chains");
    json.begin_array();
    for (const AsyncStack& chain : callers.chains) write_json(json, chain);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.key("waits_for_async");
  json.begin_array();
  for (const AsyncStack& chain : beside.waits_for) write_json(json, chain);
  json.end_array();
}

void write_json(JsonWriter& json, const FaultedTask& task) {
  json.begin_object();
  json.hex("task", task.task);
  json.text_or_null("type", task.type);
  if (task.method) {
    json.key("method");
    write_json(json, *task.method);
  }
  json.boolean("observed", task.observed);
  json.key("exception");
  json.begin_object();
  task.exception != 0 ? json.hex("address", task.exception) : json.null("address");
  json.text_or_null("type", task.exception_type);
  json.text_or_null("message", task.message);
  json.end_object();
  if (!task.fault.empty()) json.text("fault", task.fault);
  json.end_object();
}

} // namespace clr
