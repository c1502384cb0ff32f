// Nettrace files of versions 4, 5 and 6 as their format pages describe them.
#include "core/symbols/net_trace.h"
#include "core/symbols/trace_fault_kind.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/faults.h"
#include "tests/symbols/colliding_keys.h"
#include "tests/symbols/net_trace_builder.h"
#include "tests/symbols/net_trace_listener.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

NetTraceBytes text_payload(std::string_view text) {
  return NetTraceBytes().utf16(text);
}

struct Heard {
  Listener listener;
  TraceReport report;
};
Heard read(const NetTraceBuilder& builder, Listener listener = {}) {
  const NetTrace trace = NetTrace::of_bytes(builder.out.bytes, "t.nettrace");
  TraceReport report = trace.read(listener);
  return {std::move(listener), std::move(report)};
}

// Two events of one thread and one of another, with stacks.
NetTraceBuilder simple(std::uint32_t version, bool compressed, std::uint32_t pointer_size = 8) {
  NetTraceBuilder b(version, pointer_size);
  b.begin();
  if (version >= 6) b.thread(100, 4321, 777).thread(200, 99, 888);
  b.types({{.id = 1}, {.id = 2, .provider = "Other", .event_id = 7, .version = 44, .name = "Named"}});
  b.stacks(1, {{0x1000, 0x2000, 0x3000}, {}, {0xffff'fff0}});
  b.events({{.metadata = 1, .time = 1100, .payload = text_payload("one"), .stack = 1},
            {.metadata = 2, .time = 1101, .payload = text_payload("two!"), .sequence = 2, .stack = 3},
            {.metadata = 1, .time = 1101, .payload = text_payload("3"), .thread = 200, .stack = 2}},
           compressed);
  return b.end();
}

} // namespace

TEST_CASE("nettrace: events of every version, compressed or not, of 32 and 64 bits") {
  const auto version = GENERATE(4u, 5u, 6u);
  const bool compressed = GENERATE(true, false);
  const auto pointer_size = GENERATE(4u, 8u);
  CAPTURE(version, compressed, pointer_size);
  const NetTraceBuilder builder = simple(version, compressed, pointer_size);
  const NetTrace trace = NetTrace::of_bytes(builder.out.bytes, "t");
  CHECK(trace.info().version == version);
  CHECK(trace.info().pointer_size == pointer_size);
  CHECK(trace.info().process_id == 4321);
  CHECK(trace.info().processors == 8);
  CHECK(trace.info().start == 1000);
  CHECK(trace.info().ticks_per_second == 1'000'000);
  CHECK(trace.info().start_unix_ms == 1795276642012);
  if (version == 6) CHECK(trace.info().properties.at("machine") == "host");

  const auto [listener, report] = read(builder);
  CHECK(report.complete);
  CHECK_FALSE(report.stopped);
  CHECK(report.events == 3);
  CHECK(report.visited == 3);
  CHECK(report.dropped == 0);
  CHECK(report.malformed.total() == 0);
  REQUIRE(listener.events.size() == 3);
  const SeenEvent &one = listener.events[0], &two = listener.events[1], &three = listener.events[2];
  CHECK(one.provider == "Microsoft-Windows-DotNETRuntime");
  CHECK(one.event_id == 143);
  CHECK(one.version == 1);
  CHECK(one.time == 1100);
  CHECK(one.process == 4321);
  CHECK(one.thread == (version == 6 ? 777 : 100));
  CHECK(one.processor == 3);
  CHECK(one.stack == std::vector<std::uint64_t>{0x1000, 0x2000, 0x3000});
  CHECK(one.payload == text_payload("one").bytes);
  CHECK(two.provider == "Other");
  CHECK(two.event_id == 7);
  CHECK(two.version == 44);
  CHECK(two.time == 1101);
  CHECK(two.stack == std::vector<std::uint64_t>{0xffff'fff0});
  CHECK(two.payload == text_payload("two!").bytes);
  CHECK(three.time == 1101);
  CHECK(three.process == (version == 6 ? 99 : 4321));
  CHECK(three.thread == (version == 6 ? 888 : 200));
  CHECK(three.stack.empty());
  CHECK(three.payload == text_payload("3").bytes);
}

TEST_CASE("nettrace: what is not wanted is passed over, and asked for once") {
  Listener picky;
  picky.wanted = [](const symbols::EventType& type) { return type.provider == "Other"; };
  const auto [listener, report] = read(simple(GENERATE(4u, 6u), true), std::move(picky));
  CHECK(listener.types.size() == 2);
  CHECK(report.events == 3);
  CHECK(report.visited == 1);
  REQUIRE(listener.events.size() == 1);
  CHECK(listener.events[0].time == 1101);
  CHECK(listener.events[0].stack.size() == 1);
}

TEST_CASE("nettrace: the visitor ends the reading and hears of its progress") {
  Listener impatient;
  impatient.stop_after = 2;
  const auto [stopped, report] = read(simple(4, true), std::move(impatient));
  CHECK(stopped.events.size() == 2);
  CHECK(report.stopped);
  CHECK_FALSE(report.complete);

  Listener busy;
  busy.stop_after_blocks = 2;
  const auto [cancelled, second] = read(simple(6, true), std::move(busy));
  CHECK(second.stopped);
  REQUIRE(cancelled.steps.size() == 2);
  CHECK(cancelled.steps[0].first < cancelled.steps[1].first);
  CHECK(cancelled.steps[1].second == simple(6, true).out.size());
}

TEST_CASE("nettrace: the visitor hears of the progress within a large block and ends the reading there") {
  constexpr std::size_t count = 200'000, step = 65'536;
  NetTraceBuilder b(4);
  b.begin().types({{.id = 1}});
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  rows.u8(1).var(1).var(0);
  rows.bytes.resize(rows.size() + 2 * (count - 1)); // each the same as the first
  b.event_object(rows).end();
  Listener patient;
  patient.wanted = [](const symbols::EventType&) { return false; };
  const auto [all, whole] = read(b, patient);
  CHECK(whole.events == count);
  REQUIRE(all.steps.size() == 2 + count / step);
  CHECK(std::ranges::is_sorted(all.steps));
  CHECK(all.steps[2].first - all.steps[1].first == 2 * step);
  CHECK(all.steps[1].second == b.out.size());

  patient.stop_after_blocks = 3;
  const auto [some, cut] = read(b, patient);
  CHECK(cut.stopped);
  CHECK(cut.events == 2 * step);
}

TEST_CASE("nettrace: what a visitor throws reaches the caller") {
  struct Throws final : TraceVisitor {
    bool event(const TraceEvent&) override { throw Error(ErrorKind::io, "mine"); }
  } throws;
  const NetTraceBuilder builder = simple(4, true);
  const NetTrace trace = NetTrace::of_bytes(builder.out.bytes, "t");
  const auto fault = fault_of([&] { trace.read(throws); });
  REQUIRE(fault);
  CHECK(fault->what() == std::string("mine"));
}

TEST_CASE("nettrace: activities of versions 4 and 5 are passed over") {
  NetTraceBuilder b(GENERATE(4u, 5u));
  b.begin().types({{.id = 1}});
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  rows.u8(1 | 2 | 4 | 16 | 32 | 64 | 128)
      .var(1)
      .var(0)
      .var(100)
      .var(3)
      .var(100)
      .var(1200)
      .guid()
      .guid()
      .var(2)
      .u16(0xaaaa);
  rows.u8(16).var(5).guid().u16(0xbbbb);
  b.event_object(rows).end();
  const auto [listener, report] = read(b);
  CHECK(report.malformed.total() == 0);
  CHECK(report.dropped == 0);
  REQUIRE(listener.events.size() == 2);
  CHECK(listener.events[0].thread == 100);
  CHECK(listener.events[1].time == 1205);
  CHECK(listener.events[1].payload == NetTraceBytes().u16(0xbbbb).bytes);
}

TEST_CASE("nettrace: each event block starts from zeroes") {
  NetTraceBuilder b(4);
  b.begin().types({{.id = 1}});
  b.events({{.time = 1100, .payload = text_payload("a")}});
  b.events({{.time = 1050, .payload = text_payload("b"), .sequence = 2}}).end();
  const auto [listener, report] = read(b);
  REQUIRE(listener.events.size() == 2);
  CHECK(listener.events[1].time == 1050);
  CHECK(report.dropped == 0);
}

TEST_CASE("nettrace: stacks end at a sequence point") {
  const auto version = GENERATE(4u, 6u);
  NetTraceBuilder b(version);
  b.begin();
  if (version >= 6) b.thread(100, 1, 2);
  b.types({{.id = 1}});
  b.stacks(1, {{0x1000}}).events({{.time = 1, .stack = 1}}).sequence_point();
  b.events({{.time = 2, .sequence = 2, .stack = 1}});
  b.stacks(1, {{0x2000}})
      .stacks(2, {{0x3000}})
      .events({{.time = 3, .sequence = 3, .stack = 1}, {.time = 4, .sequence = 4, .stack = 2}});
  const auto [listener, report] = read(b.end());
  REQUIRE(listener.events.size() == 4);
  CHECK(listener.events[0].stack.at(0) == 0x1000);
  CHECK(listener.events[1].stack.empty());
  CHECK(listener.events[2].stack.at(0) == 0x2000);
  CHECK(listener.events[3].stack.at(0) == 0x3000);
  CHECK(report.malformed.count_of(TraceFaultKind::missing_stack) == 1);
  CHECK(report.malformed.total() == 1);
}

TEST_CASE("nettrace: events that the writer lost are counted by the numbers of the others") {
  const auto version = GENERATE(4u, 6u);
  NetTraceBuilder b(version);
  b.begin();
  if (version >= 6) b.thread(100, 1, 2).thread(200, 1, 3);
  b.types({{.id = 1}});
  b.events({{.time = 1, .sequence = 3},
            {.time = 2, .sequence = 4},
            {.time = 3, .sequence = 9}}); // 2 and 4 are missing
  b.events({{.time = 4, .thread = 200, .sequence = 1}});
  b.sequence_point({{100, 11}, {200, 1}, {300, 5}}); // 2 more of one, 5 of a thread that wrote nothing
  b.events({{.time = 5, .sequence = 12}, {.time = 6, .thread = 200, .sequence = 2}});
  b.events({{.time = 7, .thread = 200, .sequence = 1}}); // another thread with the same id
  CHECK(read(b.end()).report.dropped == 2 + 4 + 2 + 5);
}

TEST_CASE("nettrace: version 6 threads go away, and labels override the version") {
  NetTraceBuilder b(6);
  b.begin().thread(100, 4321, 777).types({{.id = 1, .version = 1}});
  NetTraceBytes labels;
  labels.u32(5).u32(3);
  labels.u8(1).guid().u8(0x80 | 10).u8(2); // 5: activity, version 2
  labels.u8(4).u64(1).u8(5).counted("key").counted("value").u8(6).counted("n").var(9); // 6: all the others
  labels.u8(2).guid().u8(3).guid().u8(7).u8(1).u8(8).u64(3).u8(0x80 | 9).u8(4);
  labels.u8(0x80 | 10).u8(7); // 7: version 7
  b.block(8, labels);
  b.events({{.time = 1, .labels = 5},
            {.time = 2, .sequence = 2, .labels = 6},
            {.time = 3, .sequence = 3, .labels = 7},
            {.time = 4, .sequence = 4}});
  b.block(7, NetTraceBytes().var(100).var(6)); // two were lost
  b.events({{.time = 5, .sequence = 1}});
  const auto [listener, report] = read(b.end());
  REQUIRE(listener.events.size() == 5);
  CHECK(listener.events[0].version == 2);
  CHECK(listener.events[1].version == 1);
  CHECK(listener.events[2].version == 7);
  CHECK(listener.events[3].version == 1);
  CHECK(listener.events[3].thread == 777);
  CHECK(listener.events[4].thread == 0);
  CHECK(listener.events[4].process == 4321);
  CHECK(report.dropped == 2);
  CHECK(report.malformed.count_of(TraceFaultKind::unknown_thread) == 1);
  CHECK(report.malformed.total() == 1);
}

TEST_CASE("nettrace: version 6 sequence points drop threads, metadata and labels") {
  NetTraceBuilder b(6);
  b.begin().thread(100, 4321, 777).types({{.id = 1}});
  b.block(8, NetTraceBytes().u32(1).u32(1).u8(0x80 | 10).u8(5));
  b.events({{.time = 1, .labels = 1}});
  b.sequence_point({}, 1 | 2);
  b.events({{.time = 2, .sequence = 2, .labels = 1}});
  b.types({{.id = 1, .event_id = 144}});
  b.events({{.time = 3, .sequence = 3, .labels = 1}});
  const auto [listener, report] = read(b.end());
  CHECK(report.malformed.count_of(TraceFaultKind::unknown_event_type) == 1);
  CHECK(report.malformed.count_of(TraceFaultKind::unknown_thread) == 1);
  REQUIRE(listener.events.size() == 2);
  CHECK(listener.events[0].version == 5);
  CHECK(listener.events[1].event_id == 144);
  CHECK(listener.events[1].version == 1);
}

TEST_CASE("nettrace: fields of payloads, first form, and the second in tags") {
  NetTraceBytes fields;
  fields.u32(3);
  fields.u32(18).utf16("Text");
  fields.u32(1).u32(2).u32(9).utf16("X").u32(12).utf16("Y").utf16("Point");
  fields.u32(17).utf16("Id");
  NetTraceBuilder first(4);
  first.begin().types({{.id = 1, .fields = fields}}).end();
  const auto seen = read(first).listener.types.at(0);
  CHECK(seen.fields_fault.empty());
  REQUIRE(seen.fields.size() == 3);
  CHECK(seen.fields[0].name == "Text");
  CHECK(seen.fields[0].type == PayloadType::utf16_string);
  CHECK(seen.fields[1].name == "Point");
  REQUIRE(seen.fields[1].nested.size() == 2);
  CHECK(seen.fields[1].nested[1].name == "Y");
  CHECK(seen.fields[1].nested[1].type == PayloadType::u64);
  CHECK(seen.fields[2].type == PayloadType::guid);
  CHECK(seen.keywords == 0x10);
  CHECK(seen.level == 4);

  NetTraceBytes array;
  array.utf16("Numbers").u32(19).u32(9).u16(0xffff); // two bytes of padding
  NetTraceBytes second, object;
  object.utf16("Pair").u32(1).u32(1);
  const NetTraceBytes inner = NetTraceBytes().utf16("A").u32(7);
  object.u32(inner.size() + 4).raw(inner);
  second.u32(2).u32(array.size() + 4).raw(array).u32(object.size() + 4).raw(object);
  NetTraceBytes tags;
  tags.u32(0);                   // no fields of the first form
  tags.u32(1).u8(1).u8(42);      // opcode
  tags.u32(3).u8(77).raw("abc"); // of a later version
  tags.u32(second.size()).u8(2).raw(second);
  NetTraceBuilder fifth(5);
  fifth.begin().types({{.id = 1, .fields = tags}}).end();
  const auto tagged = read(fifth).listener.types.at(0);
  CHECK(tagged.fields_fault.empty());
  CHECK(tagged.opcode == 42);
  REQUIRE(tagged.fields.size() == 2);
  CHECK(tagged.fields[0].name == "Numbers");
  CHECK(tagged.fields[0].type == PayloadType::array);
  CHECK(tagged.fields[0].nested.at(0).type == PayloadType::i32);
  CHECK(tagged.fields[1].nested.at(0).name == "A");
  CHECK(tagged.fields[1].nested.at(0).type == PayloadType::i16);
}

TEST_CASE("nettrace: fields of payloads in version 6") {
  NetTraceBytes location =
      NetTraceBytes().counted("Where").u8(25).u8(23).u8(0xcc); // one byte of a later version
  NetTraceBytes fixed = NetTraceBytes().counted("Four").u8(22).u8(12).u16(4);
  NetTraceBytes x = NetTraceBytes().counted("X").u8(20);
  NetTraceBytes object = NetTraceBytes().counted("Point").u8(19).u8(1).u16(1).u16(x.size()).raw(x);
  NetTraceBytes fields = NetTraceBytes().u16(3);
  for (const NetTraceBytes& field : {location, fixed, object}) fields.u16(field.size()).raw(field);
  NetTraceBuilder b(6);
  b.begin().types({{.id = 1, .version = 9, .fields = fields}}).end();
  const auto seen = read(b).listener.types.at(0);
  CHECK(seen.fields_fault.empty());
  CHECK(seen.version == 9);
  CHECK(seen.level == 4);
  CHECK(seen.keywords == 0x10);
  REQUIRE(seen.fields.size() == 3);
  CHECK(seen.fields[0].type == PayloadType::data_location);
  CHECK(seen.fields[0].nested.at(0).type == PayloadType::utf8_unit);
  CHECK(seen.fields[1].type == PayloadType::fixed_array);
  CHECK(seen.fields[1].count == 4);
  CHECK(seen.fields[1].nested.at(0).type == PayloadType::u64);
  CHECK(seen.fields[2].type == PayloadType::array);
  CHECK(seen.fields[2].nested.at(0).nested.at(0).name == "X");
}

TEST_CASE("nettrace: blocks of later versions are skipped") {
  NetTraceBuilder four(4);
  four.begin()
      .types({{.id = 1}})
      .object("FutureBlock", NetTraceBytes().raw("what ever"))
      .events({{.time = 1}})
      .end();
  NetTraceBuilder six(6);
  six.begin()
      .thread(100, 1, 1)
      .types({{.id = 1}})
      .block(77, NetTraceBytes().raw("what ever"))
      .events({{.time = 1}})
      .end();
  for (const NetTraceBuilder& b : {four, six}) {
    const auto [listener, report] = read(b);
    CHECK(listener.events.size() == 1);
    CHECK(report.skipped_blocks == 1);
    CHECK(report.complete);
    CHECK(report.malformed.total() == 0);
  }
}

TEST_CASE("nettrace: a file is mapped and recognised by its first bytes") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("t.nettrace");
  const NetTraceBuilder b = simple(4, true);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(b.out.bytes.data()), static_cast<std::streamsize>(b.out.size()));
  NetTrace moved = [&] { return NetTrace::open(path); }();
  Listener listener;
  CHECK(moved.read(listener).complete);
  CHECK(moved.name() == path);
  CHECK(NetTrace::recognises(std::span(b.out.bytes).first(16)));
  CHECK_FALSE(NetTrace::recognises(std::span(b.out.bytes).first(7)));
  CHECK(fault_of([&] { NetTrace::open(path + ".none"); })->kind() == ErrorKind::io);
}

TEST_CASE("nettrace: ids of threads that share a bucket of a table are no burden") {
  constexpr std::size_t count = 80'000;
  const std::uint64_t step = colliding_step(count);
  NetTraceBuilder b(4);
  b.begin().types({{.id = 1}});
  std::vector<BuiltEvent> events;
  for (std::uint64_t i = 0; i < count; ++i) events.push_back({.time = i, .thread = i * step});
  b.events(events).sequence_point({{7 * step, 3}}).end();
  Listener deaf;
  deaf.wanted = [](const symbols::EventType&) { return false; };
  const TraceReport report = read(b, deaf).report;
  CHECK(report.events == count);
  CHECK(report.dropped == 2);
  CHECK(report.malformed.total() == 0);
}

TEST_CASE("nettrace: a table that was large once is forgotten once") {
  NetTraceBuilder b(6);
  b.begin().thread(100, 1, 2).types({{.id = 1, .version = 3}});
  constexpr std::uint32_t count = 300'000;
  NetTraceBytes labels = NetTraceBytes().u32(1).u32(count);
  for (std::uint32_t i = 0; i < count; ++i) labels.u8(0x80 | 10).u8(5);
  b.block(8, labels).events({{.time = 1, .labels = count}});
  for (unsigned i = 0; i < 50'000; ++i) b.sequence_point();
  b.events({{.time = 2, .sequence = 2, .labels = count}}).end();
  const auto [listener, report] = read(b);
  CHECK(report.malformed.total() == 0);
  REQUIRE(listener.events.size() == 2);
  CHECK(listener.events[0].version == 5);
  CHECK(listener.events[1].version == 3);
}
