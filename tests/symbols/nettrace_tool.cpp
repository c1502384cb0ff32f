// Prints the answers of a trace's method store as lines of JSON, for the live tests
// (tests/live/check_nettrace.py):
//   nettrace_tool info FILE               the trace and how much of it could be used
//   nettrace_tool methods FILE            every body: start, size, name, module, token, tier, begin, end
//   nettrace_tool stacks FILE PROVIDER    every event of that provider with its stack; each frame is
//                                         resolved at the event's time
#include "core/symbols/method_store_trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace clr;
using Json = nlohmann::ordered_json;

std::string hex(std::uint64_t value) {
  return fmt::format("{:#x}", value);
}

void print(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json time_of(const std::optional<TraceTime>& time) {
  return time ? Json(*time) : Json(nullptr);
}

Json classes_of(const symbols::Malformed& malformed) {
  Json classes = Json::object();
  for (const MalformedClass& each : malformed.classes()) classes[std::string(each.what)] = each.count;
  return classes;
}

void print_info(const NetTrace& trace, const TraceMethods& methods) {
  const TraceInfo& info = trace.info();
  print({{"version", info.version},
         {"pointer_size", info.pointer_size},
         {"process_id", info.process_id.value_or(0)},
         {"ticks_per_second", info.ticks_per_second},
         {"start", info.start},
         {"start_unix_ms", info.start_unix_ms.value_or(0)},
         {"complete", methods.trace.complete},
         {"rundown_complete", methods.rundown_complete},
         {"events", methods.trace.events},
         {"dropped", methods.trace.dropped},
         {"skipped_blocks", methods.trace.skipped_blocks},
         {"method_events", methods.method_events},
         {"module_events", methods.module_events},
         {"malformed", classes_of(methods.trace.malformed)},
         {"malformed_payloads", classes_of(methods.malformed)}});
}

void print_methods(const TraceMethods& methods) {
  for (const auto& [process, store] : methods.processes)
    for (const MethodBody& body : store.bodies())
      print({{"process", process},
             {"start", hex(body.start)},
             {"size", body.size},
             {"name", body.name},
             {"module", body.module_path},
             {"token", hex(body.token)},
             {"method_desc", hex(body.method_id)},
             {"tier", static_cast<int>(body.tier)},
             {"jitted", body.jitted},
             {"dynamic", body.dynamic},
             {"cold", body.cold},
             {"loaded", time_of(body.loaded)},
             {"unloaded", time_of(body.unloaded)}});
}

// Resolves stacks while the trace is read a second time.
class Stacks final : public TraceVisitor {
public:
  Stacks(const TraceMethods& methods, std::string provider)
      : methods_(methods), provider_(std::move(provider)) {}

  bool wants(const symbols::EventType& type) override { return type.provider == provider_; }
  bool event(const TraceEvent& event) override {
    const MethodStore* const store = methods_.of_process(event.process_id);
    Json frames = Json::array();
    for (std::size_t i = 0; i < event.stack.size(); ++i) {
      // All frames are callers: of the runtime's own code, the innermost too.
      const Address ip = event.stack[i];
      Json frame{{"ip", hex(ip)},
                 {"name", store == nullptr ? hex(ip) : store->describe(ip - 1, event.time, {})}};
      const MethodBody* const body = store == nullptr ? nullptr : store->find(ip - 1, event.time);
      if (body != nullptr) {
        frame["offset"] = ip - body->start;
        frame["method_desc"] = hex(body->method_id);
        frame["module"] = body->module_path;
        frame["token"] = hex(body->token);
        const MethodBody* const last = store->find_last(ip - 1);
        frame["reused"] = last != body;
        frame["last"] = last->name;
      }
      frames.push_back(std::move(frame));
    }
    Json payload = Json::array();
    for (const std::byte b : event.payload) payload.push_back(std::to_integer<unsigned>(b));
    Json fields = Json::array();
    for (const PayloadField& field : event.type->fields)
      fields.push_back({field.name, static_cast<int>(field.type)});
    print({{"event", event.type->name},
           {"id", event.type->event_id},
           {"time", event.time},
           {"thread", event.thread_id},
           {"fields", std::move(fields)},
           {"payload", std::move(payload)},
           {"frames", std::move(frames)}});
    return true;
  }

private:
  const TraceMethods& methods_;
  std::string provider_;
};

int run(const std::vector<std::string>& words) {
  const NetTrace trace = NetTrace::open(words[1]);
  const TraceMethods methods = read_trace_methods(trace);
  if (words[0] == "info") {
    print_info(trace, methods);
  } else if (words[0] == "methods") {
    print_methods(methods);
  } else if (words[0] == "stacks" && words.size() > 2) {
    Stacks stacks(methods, words[2]);
    trace.read(stacks);
  } else {
    return 2;
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  int result = 2;
  try {
    if (words.size() >= 2) result = run(words);
  } catch (const clr::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
  if (result == 2)
    std::fputs("usage: nettrace_tool info|methods FILE | nettrace_tool stacks FILE PROVIDER\n", stderr);
  return result;
}
