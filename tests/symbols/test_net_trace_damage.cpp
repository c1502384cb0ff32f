// Nettrace files that are cut, damaged or hostile: faults are counted and reported, the rest is used, and
// nothing crashes, hangs, or allocates the size that a wrong count claims.
#include "core/symbols/net_trace.h"
#include "core/symbols/trace_fault_kind.h"
#include "tests/support/faults.h"
#include "tests/symbols/net_trace_builder.h"
#include "tests/symbols/net_trace_listener.h"

#include <catch2/catch.hpp>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

struct Heard {
  Listener listener;
  TraceReport report;
};
Heard read(std::span<const std::byte> bytes) {
  const NetTrace trace = NetTrace::of_bytes(bytes, "t.nettrace");
  Heard heard;
  heard.report = trace.read(heard.listener);
  return heard;
}
Heard read(const NetTraceBuilder& builder) {
  return read(builder.out.bytes);
}
Fault refusal(std::span<const std::byte> bytes) {
  return fault_of([&] { NetTrace::of_bytes(bytes, "t.nettrace"); });
}

std::vector<std::uint64_t> times(const Heard& heard) {
  std::vector<std::uint64_t> all;
  for (const SeenEvent& event : heard.listener.events) all.push_back(event.time);
  return all;
}

NetTraceBuilder begun(std::uint32_t version) {
  NetTraceBuilder b(version);
  b.begin();
  if (version >= 6) b.thread(100, 4321, 777);
  b.types({{.id = 1}});
  return b;
}

BuiltEvent at(std::uint64_t time, std::uint32_t sequence) {
  return {.time = time, .payload = NetTraceBytes().u32(0xabcd'0000 + time), .sequence = sequence};
}

// All kinds of blocks.
NetTraceBuilder rich(std::uint32_t version) {
  NetTraceBuilder b = begun(version);
  b.types({{.id = 2, .provider = "Other", .event_id = 7, .name = "Named"}});
  b.stacks(1, {{0x1000, 0x2000}, {0x3000}});
  if (version >= 6) b.block(8, NetTraceBytes().u32(1).u32(1).u8(0x80 | 10).u8(5));
  b.events({at(1100, 1),
            {.metadata = 2, .time = 1101, .payload = NetTraceBytes().u8(1), .sequence = 2, .stack = 2}});
  b.events({at(1102, 3)}, false);
  b.sequence_point({{100, 3}});
  b.stacks(1, {{0x4000}}).events({{.time = 1103, .sequence = 4, .stack = 1}});
  if (version >= 6) b.block(7, NetTraceBytes().var(100).var(4));
  return b.end();
}

} // namespace

TEST_CASE("damaged nettrace: what is no nettrace file is refused") {
  const auto refused = [](NetTraceBytes bytes) { return refusal(bytes.bytes); };
  CHECK(refused({})->kind() == ErrorKind::corrupt);
  CHECK(refused(NetTraceBytes().raw("Nettrac"))->kind() == ErrorKind::corrupt);
  const auto magic = refused(NetTraceBytes().raw("Nettracy").u32(20).raw("!FastSerialization.1"));
  REQUIRE(magic);
  CHECK(magic->what() == std::string("t.nettrace: no nettrace file: it does not start with \"Nettrace\""));
  CHECK_FALSE(magic->address());
  CHECK(refused(NetTraceBytes().raw("Nettrace").u32(20).raw("!FastSerialization.2"))->kind() ==
        ErrorKind::corrupt);
  CHECK(refused(NetTraceBytes().raw("Nettrace").u32(21).raw("!FastSerialization.12"))->kind() ==
        ErrorKind::corrupt);
}

TEST_CASE("damaged nettrace: unknown versions are refused by name") {
  const auto later = refusal(NetTraceBuilder(7).begin().end().out.bytes);
  REQUIRE(later);
  CHECK(later->kind() == ErrorKind::unsupported_contract);
  CHECK(later->what() == std::string("t.nettrace: nettrace version 7 is not supported; 4, 5 and 6 are"));
  CHECK(refusal(NetTraceBuilder(3).begin().end().out.bytes)->kind() == ErrorKind::unsupported_contract);
  // A later object that old readers understand, and one that they do not.
  NetTraceBuilder b(5);
  b.begin();
  std::vector<std::byte> bytes = b.out.bytes;
  const std::size_t version = 8 + 4 + 20 + 3;
  bytes[version] = std::byte{9};
  CHECK(NetTrace::of_bytes(bytes, "t").info().version == 5);
  bytes[version + 4] = std::byte{6};
  CHECK(refusal(bytes)->kind() == ErrorKind::unsupported_contract);
}

TEST_CASE("damaged nettrace: a header that is cut or contradicts itself is refused") {
  const auto version = GENERATE(4u, 6u);
  const std::vector<std::byte> whole = NetTraceBuilder(version).begin().out.bytes;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto fault = refusal(std::span(whole).first(size));
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::corrupt);
  }
  CHECK_FALSE(refusal(whole));
  CHECK(refusal(NetTraceBuilder(version, 2).begin().out.bytes)->kind() == ErrorKind::corrupt);

  NetTraceBuilder no_trace(6);
  no_trace.out.raw("Nettrace").u32(0).u32(6).u32(0);
  no_trace.block(2, {});
  CHECK(refusal(no_trace.out.bytes)->kind() == ErrorKind::corrupt);
  NetTraceBuilder no_object(4);
  no_object.out.raw("Nettrace").counted32("!FastSerialization.1");
  no_object.object("EventBlock", {});
  CHECK(refusal(no_object.out.bytes)->kind() == ErrorKind::corrupt);
}

TEST_CASE("damaged nettrace: a trace without a date has no wall clock") {
  NetTraceBuilder b(4);
  b.begin();
  std::vector<std::byte> bytes = b.out.bytes;
  const std::size_t date = bytes.size() - 1 - 48;
  bytes[date + 2] = std::byte{13}; // month
  const NetTrace trace = NetTrace::of_bytes(bytes, "t");
  CHECK_FALSE(trace.info().start_unix_ms);
}

TEST_CASE("damaged nettrace: version 6 properties that are no numbers") {
  NetTraceBuilder b(6);
  b.out.raw("Nettrace").u32(0).u32(6).u32(0);
  NetTraceBytes body;
  body.u64(0)
      .u64(0)
      .u64(1)
      .u64(1)
      .u32(8)
      .u32(2)
      .counted("ProcessId")
      .counted("12x")
      .counted("HardwareThreadCount")
      .counted("");
  b.block(1, body).end();
  const NetTrace trace = NetTrace::of_bytes(b.out.bytes, "t");
  CHECK_FALSE(trace.info().process_id);
  CHECK_FALSE(trace.info().processors);
  CHECK_FALSE(trace.info().start_unix_ms);

  NetTraceBuilder many(6);
  many.out.raw("Nettrace").u32(0).u32(6).u32(0);
  many.block(1, NetTraceBytes().u64(0).u64(0).u64(1).u64(1).u32(8).u32(0x7fff'ffff));
  CHECK(refusal(many.out.bytes)->kind() == ErrorKind::corrupt);
}

TEST_CASE("damaged nettrace: a file that ends anywhere is used up to there") {
  const auto version = GENERATE(4u, 5u, 6u);
  const std::vector<std::byte> whole = rich(version).out.bytes;
  const std::size_t header = NetTraceBuilder(version).begin().out.size();
  const Heard all = read(whole);
  REQUIRE(all.listener.events.size() == 4);
  REQUIRE(all.report.complete);
  REQUIRE(all.report.malformed.total() == 0);
  REQUIRE(all.report.dropped == 0);
  std::size_t before = 0;
  for (std::size_t size = header; size < whole.size(); ++size) {
    CAPTURE(version, size);
    const Heard cut = read(std::span(whole).first(size));
    const std::size_t now = cut.listener.events.size();
    CHECK_FALSE(cut.report.complete);
    CHECK(now >= before); // never less of a longer file
    for (std::size_t i = 0; i < now; ++i) CHECK(cut.listener.events[i].time == all.listener.events[i].time);
    CHECK(cut.report.malformed.total() == 0);
    before = now;
  }
  CHECK(before == 4);
}

TEST_CASE("damaged nettrace: a block that ends elsewhere than it says, versions 4 and 5") {
  const auto version = GENERATE(4u, 5u);
  const auto stated = GENERATE(std::size_t{0}, std::size_t{3}, std::size_t{25}, std::size_t{400},
                               std::size_t{0x7fff'ffff}, std::size_t{0xffff'fff0});
  CAPTURE(version, stated);
  NetTraceBuilder b = begun(version);
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  rows.raw(b.event_rows({at(1, 1), at(2, 2)}));
  b.object("EventBlock", rows, stated);
  b.events({at(3, 3)}).end();
  const Heard heard = read(b);
  // The next block begins where it begins, and all events are there.
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::unended_block) == 1);
  CHECK(heard.report.malformed.total() == 1);
  CHECK(heard.report.dropped == 0);
  CHECK(heard.report.complete);
}

TEST_CASE("damaged nettrace: garbage between blocks, versions 4 and 5") {
  NetTraceBuilder b = begun(4);
  b.events({at(1, 1)});
  b.out.raw(std::string_view("\7\0\5\5garbage\6\5\5\1", 15));
  b.out.u8(6); // an end tag in front of the next object
  b.events({at(2, 2)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 2});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::no_block) == 1);
  CHECK(heard.report.malformed.total() == 1);
  CHECK(heard.report.complete);

  NetTraceBuilder only = begun(4);
  only.events({at(1, 1)});
  only.out.raw("and nothing more");
  const Heard rest = read(only);
  CHECK(times(rest) == std::vector<std::uint64_t>{1});
  CHECK(rest.report.malformed.count_of(TraceFaultKind::no_block) == 1);
  CHECK_FALSE(rest.report.complete);
}

TEST_CASE("damaged nettrace: a block that says more than the file has, version 6") {
  NetTraceBuilder b = begun(6);
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  b.block(2, rows.raw(b.event_rows({at(1, 1), at(2, 2)})), 0xff'ffff);
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 2});
  CHECK_FALSE(heard.report.complete);
}

TEST_CASE("damaged nettrace: a torn event ends its block, not the file") {
  const auto version = GENERATE(4u, 6u);
  const bool compressed = GENERATE(true, false);
  CAPTURE(version, compressed);
  NetTraceBuilder b = begun(version);
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, compressed);
  rows.raw(b.event_rows({at(1, 1), at(2, 2)}, compressed));
  rows.bytes.resize(rows.bytes.size() - 3);
  b.event_object(rows).events({at(3, 3)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 3});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 1);
  CHECK(heard.report.malformed.total() == 1);
  CHECK(heard.report.dropped == 1); // the torn one
  CHECK(heard.report.complete);
}

TEST_CASE("damaged nettrace: headers of blocks") {
  const auto version = GENERATE(4u, 6u);
  NetTraceBuilder b = begun(version);
  b.event_object({});                                 // no header
  b.event_object(NetTraceBytes().u16(3).u16(1));      // shorter than its own size
  b.event_object(NetTraceBytes().u16(0xffff).u16(1)); // longer than the block
  b.event_object(NetTraceBytes().u16(4).u16(1));      // the shortest, without events
  b.events({at(3, 1)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{3});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 2);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::short_block_header) == 1);
}

TEST_CASE("damaged nettrace: integers that do not fit") {
  NetTraceBuilder b = begun(4);
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  const NetTraceBytes start = rows;
  // A metadata id of 33 bits, a time of 65, one without an end.
  b.event_object(NetTraceBytes(start).u8(1).raw("\xff\xff\xff\xff\x1f").u8(0));
  b.event_object(NetTraceBytes(start).u8(1).u8(1).raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
  b.event_object(NetTraceBytes(start).u8(1).u8(1).raw("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"));
  // The largest that fit: the time wraps, the payload is not there.
  b.event_object(
      NetTraceBytes(start).u8(1).raw("\xff\xff\xff\xff\x0f").raw("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
  b.event_object(NetTraceBytes(start).u8(0x81).u8(1).u8(7).raw("\xff\xff\xff\xff\x0f"));
  b.events({at(3, 1)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{3});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::large_integer) == 3);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::unknown_event_type) == 1);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 1);
}

TEST_CASE("damaged nettrace: sizes of uncompressed events") {
  NetTraceBuilder b = begun(4);
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, false);
  b.event_object(NetTraceBytes(rows).u32(0xffff'ffff).u64(1)); // negative
  b.event_object(NetTraceBytes(rows).u32(8).u64(1));           // smaller than its header
  NetTraceBytes lying = b.event_rows({at(2, 1)}, false);
  lying.bytes[4 + 72] = std::byte{200}; // the payload is larger than the event
  b.event_object(NetTraceBytes(rows).raw(lying));
  b.events({at(3, 1)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{3});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::negative_size) == 1);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 2);
}

TEST_CASE("damaged nettrace: events of a type that no metadata describes") {
  const auto version = GENERATE(4u, 6u);
  NetTraceBuilder b = begun(version);
  b.events({at(1, 1), {.metadata = 9, .time = 2, .sequence = 2}, at(3, 3)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 3});
  CHECK(heard.report.events == 3);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::unknown_event_type) == 1);
  CHECK(heard.report.malformed.classes().at(0).first > 0);
  CHECK(heard.report.dropped == 0);
}

TEST_CASE("damaged nettrace: metadata rows that are cut are left out, damaged fields are not known") {
  NetTraceBuilder b(4);
  b.begin();
  const NetTraceBytes good = b.metadata_payload({.id = 1});
  NetTraceBytes rows;
  NetTraceBuilder::event_block_header(rows, true);
  NetTraceBytes no_end = NetTraceBytes().u32(2).raw(std::string_view("a\0b\0c", 5));
  NetTraceBytes deep = b.metadata_payload({.id = 3});
  deep.bytes.resize(deep.size() - 4);
  for (unsigned i = 0; i < 1000; ++i) deep.u32(1).u32(1);
  NetTraceBytes many = b.metadata_payload({.id = 4, .fields = NetTraceBytes().u32(0x7fff'ffff)});
  NetTraceBytes odd = b.metadata_payload({.id = 5, .fields = NetTraceBytes().u32(1).u32(99).utf16("X")});
  NetTraceBytes tag = b.metadata_payload({.id = 6, .fields = NetTraceBytes().u32(0).u32(99).u8(2)});
  NetTraceBytes field =
      b.metadata_payload({.id = 7, .fields = NetTraceBytes().u32(0).u32(8).u8(2).u32(1).u32(3)});
  for (const NetTraceBytes& row : {no_end, deep, many, odd, tag, field, good})
    rows.u8(0x80).u8(0).var(row.size()).raw(row);
  b.object("MetadataBlock", rows);
  b.events({at(1, 1)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::endless_string) == 1);
  CHECK(heard.report.malformed.total() == 1);
  REQUIRE(heard.listener.types.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK_FALSE(heard.listener.types[i].fields_fault.empty());
    CHECK(heard.listener.types[i].fields.empty());
    CHECK(heard.listener.types[i].provider == "Microsoft-Windows-DotNETRuntime");
  }
  CHECK(heard.listener.types[5].fields_fault.empty());
}

TEST_CASE("damaged nettrace: version 6 metadata rows") {
  NetTraceBuilder b(6);
  b.begin().thread(100, 1, 2);
  NetTraceBytes rows = NetTraceBytes().u16(0);
  NetTraceBytes no_size =
      NetTraceBytes().var(2).counted("P").var(1).counted("E").u16(0); // without optional metadata
  NetTraceBytes deep = NetTraceBytes().counted("X");
  for (unsigned i = 0; i < 1000; ++i) deep.u8(19);
  NetTraceBytes fields = NetTraceBytes().u16(1).u16(deep.size()).raw(deep);
  NetTraceBytes nested =
      NetTraceBytes().var(3).counted("P").var(1).counted("E").raw(fields).u16(2).u8(9).u8(8);
  NetTraceBytes unknown =
      NetTraceBytes().var(1).counted("P").var(1).counted("E").u16(0).u16(4).u8(9).u8(7).u8(200).u8(0);
  NetTraceBytes text = NetTraceBytes().var(4).var(0xffff'ffff).u8(0);
  NetTraceBytes cut = NetTraceBytes().var(5).counted("P").var(1).counted("E").u16(0).u16(2).u8(3).u8(3);
  for (const NetTraceBytes& row : {no_size, nested, unknown, text, cut}) rows.u16(row.size()).raw(row);
  b.block(3, rows);
  b.events({at(1, 1)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1});
  CHECK(heard.listener.events.at(0).version == 7);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 3);
  CHECK(heard.report.malformed.total() == 3);
  REQUIRE(heard.listener.types.size() == 2);
  CHECK(heard.listener.types[0].id == 3);
  CHECK(heard.listener.types[0].version == 8); // behind fields that are not known
  CHECK_FALSE(heard.listener.types[0].fields_fault.empty());
}

TEST_CASE("damaged nettrace: more fields than a trace can have") {
  // A field of this form is stored as 17: arrays of arrays.
  constexpr std::size_t fields = 3'000, nested = 17, types = 7;
  constexpr std::size_t fitting = NetTrace::max_fields / (fields * nested);
  static_assert(fitting < types);
  NetTraceBytes field = NetTraceBytes().u16(1 + nested).u8(0);
  for (std::size_t i = 1; i < nested; ++i) field.u8(19);
  field.u8(9);
  NetTraceBytes all = NetTraceBytes().u16(fields);
  for (std::size_t i = 0; i < fields; ++i) all.raw(field);
  const auto known = [&](bool wanted, bool same_id) {
    NetTraceBuilder b(6);
    b.begin();
    for (std::uint32_t i = 0; i < types; ++i) b.types({{.id = same_id ? 1 : 1 + i, .fields = all}});
    struct Counter final : TraceVisitor {
      bool wants(const symbols::EventType& type) override {
        with_fields += type.fields.size() == fields;
        CHECK(type.fields_fault.starts_with(to_string(TraceFaultKind::many_fields)) == type.fields.empty());
        return answer;
      }
      bool event(const TraceEvent&) override { return true; }
      bool answer = false;
      std::size_t with_fields = 0;
    } counter;
    counter.answer = wanted;
    const TraceReport report = NetTrace::of_bytes(b.end().out.bytes, "t").read(counter);
    CHECK(report.complete);
    CHECK(report.malformed.total() == 0);
    return counter.with_fields;
  };
  CHECK(known(true, false) == fitting);
  CHECK(known(true, true) == types);   // each takes the place of the one before
  CHECK(known(false, false) == types); // nothing is kept of what is not wanted
}

TEST_CASE("damaged nettrace: a file of nothing but damage is not read to its end") {
  NetTraceBuilder b = begun(6);
  NetTraceBytes types = NetTraceBytes().u16(0), threads;
  types.bytes.resize(2 + 2 * (NetTrace::max_faults / 2)); // rows without bytes
  threads.bytes.resize(2 * (NetTrace::max_faults / 2 + 1000));
  b.events({at(1, 1)}).block(3, types).events({at(2, 2)}).block(6, threads).events({at(3, 3)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 2});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == NetTrace::max_faults);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::many_faults) == 1);
  CHECK(heard.report.malformed.total() == NetTrace::max_faults + 1);
  CHECK_FALSE(heard.report.complete);
  CHECK_FALSE(heard.report.stopped);
}

TEST_CASE("damaged nettrace: more stacks than can be between two sequence points") {
  NetTraceBuilder b = begun(4);
  NetTraceBytes empty = NetTraceBytes().u32(1).u32(NetTrace::max_stacks + 10);
  empty.bytes.resize(empty.size() + 4 * (NetTrace::max_stacks + 10));
  b.object("StackBlock", empty);
  b.events({{.time = 1, .stack = NetTrace::max_stacks},
            {.time = 2, .sequence = 2, .stack = NetTrace::max_stacks + 1}});
  b.sequence_point().stacks(1, {{0x1000}}).events({{.time = 3, .sequence = 3, .stack = 1}});
  const Heard heard = read(b.end());
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(heard.listener.events.at(2).stack == std::vector<std::uint64_t>{0x1000});
  CHECK(heard.report.malformed.count_of(TraceFaultKind::many_stacks) == 1);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::missing_stack) == 1);
  CHECK(heard.report.malformed.total() == 2);

  NetTraceBuilder blocks = begun(6);
  for (std::uint32_t i = 0; i < NetTrace::max_stack_runs + 5; ++i) blocks.stacks(1 + i, {{0x1000 + i}});
  blocks.stacks(1, {{0x77}}); // the same place is used again
  blocks.events({{.time = 1, .stack = 1},
                 {.time = 2, .sequence = 2, .stack = NetTrace::max_stack_runs},
                 {.time = 3, .sequence = 3, .stack = NetTrace::max_stack_runs + 1}});
  const Heard runs = read(blocks.end());
  REQUIRE(times(runs) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(runs.listener.events[0].stack == std::vector<std::uint64_t>{0x77});
  CHECK(runs.listener.events[1].stack == std::vector<std::uint64_t>{0xfff + NetTrace::max_stack_runs});
  CHECK(runs.listener.events[2].stack.empty());
  CHECK(runs.report.malformed.count_of(TraceFaultKind::many_stacks) == 5);
  CHECK(runs.report.malformed.count_of(TraceFaultKind::missing_stack) == 1);
}

TEST_CASE("damaged nettrace: stacks") {
  const auto version = GENERATE(4u, 6u);
  NetTraceBuilder b = begun(version);
  const auto stack_block = [&](const NetTraceBytes& rows) {
    version >= 6 ? b.block(5, rows) : b.object("StackBlock", rows);
  };
  stack_block(NetTraceBytes().u32(1).u32(0x7fff'ffff).u32(8).u64(0x1000).u32(9999)); // claims what it has not
  stack_block(NetTraceBytes().u32(10).u32(1).u32(5).raw("12345"));                   // less than a pointer
  stack_block(NetTraceBytes().u32(7));
  b.events({{.time = 1, .stack = 1},
            {.time = 2, .sequence = 2, .stack = 2},
            {.time = 3, .sequence = 3, .stack = 10},
            {.time = 4, .sequence = 4, .stack = 0xffff'ffff}});
  const Heard heard = read(b.end());
  REQUIRE(times(heard) == std::vector<std::uint64_t>{1, 2, 3, 4});
  CHECK(heard.listener.events[0].stack == std::vector<std::uint64_t>{0x1000});
  CHECK(heard.listener.events[1].stack.empty());
  CHECK(heard.listener.events[2].stack.empty());
  CHECK(heard.report.malformed.count_of(TraceFaultKind::missing_stack) == 2);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 2);
  CHECK(heard.report.malformed.total() == 4);
}

TEST_CASE("damaged nettrace: sequence points, threads and labels") {
  NetTraceBuilder b = begun(6);
  b.block(4, NetTraceBytes().u64(1).u32(0).u32(0x7fff'ffff).var(100).var(0)); // more threads than there are
  b.block(4, {});
  b.block(6, NetTraceBytes().u16(9999).var(5));
  b.block(6,
          NetTraceBytes().u16(3).var(5).u8(1).u8(77).u16(3).var(6).u8(99).u8(1).u16(3).var(7).u8(3).u8(11));
  b.block(7, NetTraceBytes().var(5));
  b.block(8, NetTraceBytes().u32(1).u32(2).u8(0x80 | 10).u8(4).u8(0x80 | 99));
  b.block(8, NetTraceBytes().u32(5).u32(0x7fff'ffff).u8(0x80 | 10).u8(4));
  b.events({{.time = 1, .labels = 1}, {.time = 2, .thread = 7}, {.time = 3, .thread = 6}}).end();
  const Heard heard = read(b);
  REQUIRE(times(heard) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(heard.listener.events[0].version == 4);
  CHECK(heard.listener.events[1].thread == 11);
  CHECK(heard.listener.events[2].thread == 0);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::unknown_label) == 1);
  CHECK(heard.report.malformed.count_of(TraceFaultKind::early_end) == 6);
  CHECK(heard.report.malformed.total() == 7);
}

TEST_CASE("damaged nettrace: a second trace behind the first") {
  NetTraceBuilder b = begun(4);
  b.events({at(1, 1)});
  b.object_header("Trace", 4, 4);
  for (unsigned i = 0; i < 48; ++i) b.out.u8(0);
  b.out.u8(6);
  b.events({at(2, 2)}).end();
  const Heard heard = read(b);
  CHECK(times(heard) == std::vector<std::uint64_t>{1, 2});
  CHECK(heard.report.skipped_blocks == 1);
}

TEST_CASE("damaged nettrace: any byte may be wrong") {
  const auto version = GENERATE(4u, 5u, 6u);
  std::vector<std::byte> bytes = rich(version).out.bytes;
  const std::size_t header = NetTraceBuilder(version).begin().out.size();
  for (std::size_t i = header; i < bytes.size(); ++i) {
    const std::byte whole = bytes[i];
    for (const unsigned wrong : {0u, 1u, 0x7fu, 0x80u, 0xffu, std::to_integer<unsigned>(whole) ^ 4u}) {
      bytes[i] = static_cast<std::byte>(wrong);
      CHECK(read(bytes).listener.events.size() <= 16); // no garbage becomes many events
    }
    bytes[i] = whole;
  }
  std::mt19937 random(7);
  for (unsigned round = 0; round < 2000; ++round) {
    std::vector<std::byte> noise = bytes;
    for (unsigned i = 0; i < 8; ++i)
      noise[header + random() % (noise.size() - header)] = static_cast<std::byte>(random());
    read(noise);
  }
  SUCCEED();
}
