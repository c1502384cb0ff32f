// From a trace to the stores of its processes: synthetic traces, and a real one (data/README.md).
#include "core/symbols/method_store_trace.h"
#include "core/symbols/trace_fault_kind.h"
#include "tests/symbols/net_trace_builder.h"
#include "tests/symbols/net_trace_listener.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <zlib.h>

using namespace clr;
using namespace clr::test;

namespace {

const std::string rundown = "Microsoft-Windows-DotNETRuntimeRundown";

NetTraceBuilder begun(std::uint32_t version) {
  NetTraceBuilder b(version);
  b.begin();
  if (version >= 6) b.thread(100, 1, 777).thread(200, 2, 888);
  return b.types({{.id = 1},
                  {.id = 2, .event_id = 144},
                  {.id = 3, .provider = rundown, .event_id = 144},
                  {.id = 4, .event_id = 152},
                  {.id = 5, .provider = rundown, .event_id = 146},
                  {.id = 6, .provider = "Other", .event_id = 143}});
}

std::string name_at(const MethodStore& store, Address address, TraceTime time) {
  const MethodBody* const body = store.find(address, time);
  return body == nullptr ? "-" : std::string(body->name);
}

// A gzip file of tests/symbols/data.
std::vector<std::byte> unpacked(const std::string& name) {
  const gzFile file = gzopen((std::string(CLR_TEST_DATA) + "/symbols/data/" + name).c_str(), "rb");
  REQUIRE(file != nullptr);
  std::vector<std::byte> bytes, part(1 << 16);
  for (int n; (n = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0;)
    bytes.insert(bytes.end(), part.begin(), part.begin() + n);
  gzclose(file);
  return bytes;
}

} // namespace

TEST_CASE("trace methods: loads, unloads, rundown and modules of every version") {
  const auto version = GENERATE(4u, 5u, 6u);
  NetTraceBuilder b = begun(version);
  b.events(
      {{.metadata = 4, .time = 5, .payload = module_payload(0x8000, "/app/app.dll")},
       {.metadata = 1, .time = 10, .payload = payload_of({.name = "First"}), .sequence = 2},
       {.metadata = 2, .time = 20, .payload = payload_of({.name = "First"}), .sequence = 3},
       {.metadata = 1, .time = 30, .payload = payload_of({.id = 0x7100, .name = ".ctor"}), .sequence = 4},
       {.metadata = 6, .time = 31, .payload = payload_of({.start = 0x90'0000}), .sequence = 5}});
  b.events({{.metadata = 3,
             .time = 90,
             .payload = payload_of({.start = 0x20'0000, .name = "Old", .version = 2}),
             .sequence = 6},
            {.metadata = 5, .time = 91, .sequence = 7}});
  b.end();
  const NetTrace trace = NetTrace::of_bytes(b.out.bytes, "t");
  const TraceMethods methods = read_trace_methods(trace);
  CHECK(methods.trace.complete);
  CHECK(methods.rundown_complete);
  CHECK(methods.method_events == 4);
  CHECK(methods.module_events == 1);
  CHECK(methods.malformed.total() == 0);
  REQUIRE(methods.processes.size() == 1);
  const MethodStore* const store = methods.of_process(version == 6 ? 1 : 4321);
  REQUIRE(store != nullptr);
  CHECK(methods.of_process({}) == store);
  CHECK(methods.of_process(5) == nullptr);
  CHECK(name_at(*store, 0x10'0010, 15) == "Ns.Type.First(int32)");
  CHECK(name_at(*store, 0x10'0010, 25) == "-");
  CHECK(name_at(*store, 0x10'0010, 35) == "Ns.Type(int32)");
  CHECK(name_at(*store, 0x20'0010, 1) == "Ns.Type.Old(int32)");
  CHECK(name_at(*store, 0x90'0010, 50) == "-");
  CHECK(store->find(0x10'0010, 35)->module_path == "/app/app.dll");
  CHECK(store->find(0x20'0010, 35)->code_version == 77);
}

TEST_CASE("trace methods: the processes of one file are apart") {
  NetTraceBuilder b = begun(6);
  b.events({{.metadata = 1, .time = 10, .payload = payload_of({.name = "One"})},
            {.metadata = 1, .time = 10, .payload = payload_of({.name = "Two"}), .thread = 200}});
  const NetTrace trace = NetTrace::of_bytes(b.end().out.bytes, "t");
  const TraceMethods methods = read_trace_methods(trace);
  REQUIRE(methods.processes.size() == 2);
  CHECK(methods.of_process({}) == nullptr);
  CHECK(name_at(*methods.of_process(1), 0x10'0000, 20) == "Ns.Type.One(int32)");
  CHECK(name_at(*methods.of_process(2), 0x10'0000, 20) == "Ns.Type.Two(int32)");
  CHECK_FALSE(methods.rundown_complete);
}

TEST_CASE("trace methods: payloads that are wrong are counted, the rest is used") {
  const auto version = GENERATE(4u, 6u);
  NetTraceBuilder b = begun(version);
  NetTraceBytes cut = payload_of({.start = 0x30'0000});
  cut.bytes.resize(30);
  NetTraceBytes no_end = payload_of({.start = 0x40'0000, .version = 0});
  no_end.bytes.resize(no_end.size() - 2);
  b.events(
      {{.metadata = 1, .time = 10, .payload = cut},
       {.metadata = 1, .time = 11, .payload = no_end, .sequence = 2},
       {.metadata = 1, .time = 12, .payload = payload_of({.start = 0x50'0000, .size = 0}), .sequence = 3},
       {.metadata = 1, .time = 13, .payload = payload_of({.start = UINT64_MAX - 4}), .sequence = 4},
       {.metadata = 4, .time = 14, .payload = NetTraceBytes().u64(1), .sequence = 5},
       {.metadata = 1, .time = 15, .payload = payload_of({.name = "Good"}), .sequence = 6}});
  const NetTrace trace = NetTrace::of_bytes(b.end().out.bytes, "t");
  const TraceMethods methods = read_trace_methods(trace);
  CHECK(methods.method_events == 1);
  CHECK(methods.malformed.count_of(TraceFaultKind::early_end) == 2);
  CHECK(methods.malformed.count_of(TraceFaultKind::endless_string) == 1);
  CHECK(methods.malformed.count_of(TraceFaultKind::impossible_code) == 2);
  CHECK(methods.malformed.total() == 5);
  const MethodStore* const store = methods.of_process({});
  REQUIRE(store != nullptr);
  CHECK(store->bodies().size() == 1);
  CHECK(name_at(*store, 0x10'0000, 20) == "Ns.Type.Good(int32)");
}

TEST_CASE("trace methods: beyond many damaged payloads no events are used") {
  NetTraceBuilder b = begun(4);
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  rows.u8(1).var(1).var(10);
  rows.bytes.resize(rows.size() + 2 * (NetTrace::max_faults + 10)); // as the first, all without payloads
  b.events({{.metadata = 1, .time = 10, .payload = payload_of({.name = "Good"})}}).event_object(rows);
  b.events({{.metadata = 1, .time = 15, .payload = payload_of({.start = 0x20'0000})}});
  const NetTrace trace = NetTrace::of_bytes(b.end().out.bytes, "t");
  const TraceMethods methods = read_trace_methods(trace);
  CHECK(methods.trace.complete);
  CHECK(methods.trace.events == NetTrace::max_faults + 13);
  CHECK(methods.method_events == 1);
  CHECK(methods.malformed.count_of(TraceFaultKind::early_end) == NetTrace::max_faults);
  CHECK(methods.malformed.count_of(TraceFaultKind::many_faults) == 1);
  CHECK(methods.malformed.total() == NetTrace::max_faults + 1);
  REQUIRE(methods.of_process({}) != nullptr);
  CHECK(methods.of_process({})->bodies().size() == 1);
}

TEST_CASE("trace methods: an event whose path is too long is used and told") {
  NetTraceBuilder b = begun(4).types({{.id = 7, .event_id = 141}});
  b.events({{.metadata = 4, .time = 5, .payload = module_payload(0x8000, std::string(5000, 'a'))},
            {.metadata = 7, .time = 10, .payload = payload_of({.named = false}), .sequence = 2}});
  const NetTrace trace = NetTrace::of_bytes(b.end().out.bytes, "t");
  const TraceMethods methods = read_trace_methods(trace);
  CHECK(methods.module_events == 1);
  CHECK(methods.method_events == 1);
  CHECK(methods.malformed.count_of(TraceFaultKind::lost_text) == 1);
  CHECK(methods.malformed.total() == 1);
  CHECK(name_at(*methods.of_process({}), 0x10'0010, 15) == "");
}

TEST_CASE("trace methods: progress, and its end") {
  const NetTraceBuilder b = begun(4).events({{.metadata = 1, .time = 10, .payload = payload_of({})}}).end();
  const NetTrace trace = NetTrace::of_bytes(b.out.bytes, "t");
  std::vector<std::uint64_t> steps;
  const TraceMethods whole = read_trace_methods(trace, [&](std::uint64_t done, std::uint64_t size) {
    CHECK(size == b.out.size());
    steps.push_back(done);
    return true;
  });
  CHECK(steps == std::vector<std::uint64_t>{steps.at(0), b.out.size() - 1});
  CHECK(whole.method_events == 1);
  const TraceMethods stopped = read_trace_methods(trace, [](std::uint64_t, std::uint64_t) { return false; });
  CHECK(stopped.trace.stopped);
  CHECK(stopped.method_events == 0);
}

// The process wrote the same stacks itself, as System.Diagnostics.StackTrace gives them.
TEST_CASE("trace methods: a trace of .NET 10 names every frame that the process reported") {
  const std::vector<std::byte> bytes = unpacked("traced.nettrace.gz");
  const NetTrace trace = NetTrace::of_bytes(bytes, "traced.nettrace");
  CHECK(trace.info().version == 4);
  const TraceMethods methods = read_trace_methods(trace);
  CHECK(methods.trace.complete);
  CHECK(methods.rundown_complete);
  CHECK(methods.trace.dropped == 0);
  CHECK(methods.trace.skipped_blocks == 0);
  CHECK(methods.trace.malformed.total() == 0);
  CHECK(methods.malformed.total() == 0);
  const MethodStore* const store = methods.of_process(trace.info().process_id);
  REQUIRE(store != nullptr);

  Listener listener;
  listener.wanted = [](const symbols::EventType& type) {
    return type.provider == "traced" && type.name == "Point";
  };
  trace.read(listener);
  std::ranges::sort(listener.events, {}, &SeenEvent::time); // one point is on another thread
  const std::vector<std::byte> text = unpacked("traced.report.gz");
  std::istringstream report(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  std::size_t number = 0, compared = 0, reused = 0;
  for (std::string line; std::getline(report, line); ++number) {
    const auto reported = nlohmann::json::parse(line);
    REQUIRE(number < listener.events.size());
    const SeenEvent& event = listener.events[number];
    CHECK(event.thread == reported["thread"].get<std::uint64_t>());
    // From the outermost frame inwards; the innermost of the report is the one that records.
    auto recorded = event.stack.rbegin();
    const auto& frames = reported["frames"];
    for (std::size_t i = frames.size(); i-- > 1; ++recorded) {
      REQUIRE(recorded != event.stack.rend());
      const MethodBody* const body = store->find(*recorded - 1, event.time);
      const std::string method = frames[i]["method"];
      INFO(number << ": " << method);
      REQUIRE(body != nullptr);
      CHECK(*recorded - body->start == frames[i]["native_offset"].get<std::uint64_t>());
      // Of generic methods the report has the definition's MethodDesc.
      if (!frames[i].value("generic", false))
        CHECK(body->method_id == std::stoull(frames[i]["method_desc"].get<std::string>(), nullptr, 16));
      const std::string simple = method.substr(method.rfind('.') + 1);
      if (simple != "ctor") CHECK(body->name.find(simple + "(") != std::string_view::npos);
      ++compared;
      reused += store->find_last(*recorded - 1) != body;
    }
  }
  CHECK(number == listener.events.size());
  CHECK(compared == 169);
  CHECK(reused == 6); // only their times tell those from the methods that came after them
}
