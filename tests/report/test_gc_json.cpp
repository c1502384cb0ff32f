#include "core/isa/registers.h"
#include "core/report/answer_json.h"
#include "core/report/gc_json.h"
#include "core/report/root_json.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace clr;

namespace {

GcReport sample() {
  GcReport report{.address = 0x1010, .offset = 0x10, .answer = {}};
  report.cpu = Cpu::x64;
  report.gc_info = 0x5000;
  report.version = 4;
  report.code_length = 0x60;
  report.size = 20;
  report.header = GcHeader{.version = 4,
                           .code_length = 0x60,
                           .wants_leaf_only = true,
                           .frame_register = x64_register::rbp,
                           .prolog_end = 8,
                           .cookie = GcHeader::Cookie{.offset = -0x30, .valid_begin = 8, .valid_end = 0x50},
                           .context = GcHeader::Context{.kind = GcContextKind::this_object,
                                                        .place = {.base = GcBase::frame, .offset = -8}},
                           .outgoing_area = 16};
  report.slots = {.slots = {{.reg = x64_register::rbx},
                            {.base = GcBase::frame, .offset = -0x70, .interior = true},
                            {.base = GcBase::sp, .offset = 8, .pinned = true, .untracked = true}},
                  .tracked = 2};
  report.safe_points = {{.offset = 0x10, .live = {0, 1}}, {.offset = 0x20, .live = {}}};
  report.ranges = {{.range = {0x30, 0x50},
                    .changes = {{0x30, 1, true}, {0x38, 0, true}, {0x40, 0, false}, {0x40, 1, false}}}};
  report.spot = GcReport::Spot::safe_point;
  report.live = {0, 1};
  return report;
}

} // namespace

TEST_CASE("GC info as JSON") {
  const Json json = to_json(sample());
  CHECK(json["gc_info"] == "0x5000");
  CHECK(json["code_length"] == 0x60);
  CHECK(json["frame_register"] == "rbp");
  CHECK(json["context"] == Json({{"kind", "this"}, {"base", "fp"}, {"offset", -8}, {"valid_begin", 8}}));
  CHECK(json["gs_cookie"] == Json({{"offset", -0x30}, {"valid_begin", 8}, {"valid_end", 0x50}}));
  CHECK(json["slots"][0]["register"] == "rbx");
  CHECK_FALSE(json["slots"][0].contains("offset"));
  CHECK(json["slots"][1]["offset"] == -0x70);
  CHECK(json["slots"][1]["interior"] == true);
  CHECK(json["slots"][2]["base"] == "sp");
  CHECK(json["slots"][2]["untracked"] == true);
  CHECK(json["safe_points"][0] == Json({{"offset", 0x10}, {"live", {0, 1}}}));
  CHECK(json["ranges"][0]["changes"][2] == Json({{"offset", 0x40}, {"slot", 0}, {"live", false}}));
  CHECK(json["at"] == Json({{"spot", "safe_point"}, {"live", {0, 1}}}));
  CHECK_FALSE(json.contains("fault"));
  // Of a version of which only the length is known.
  GcReport length = sample();
  length.header.reset();
  length.fault = "unsupported GC info 5";
  const Json short_json = to_json(length);
  CHECK(short_json["fault"] == "unsupported GC info 5");
  CHECK(short_json["code_length"] == 0x60);
  CHECK_FALSE(short_json.contains("slots"));
}

TEST_CASE("marks of GC info in a listing") {
  const std::vector<GcMark> marks = gc_marks(sample());
  std::vector<std::string> texts;
  for (const GcMark& mark : marks)
    texts.push_back(fmt::format("{:#x} {}: {}", mark.offset, to_string(mark.kind), mark.text));
  CHECK(texts == std::vector<std::string>{
                     "0x10 safe_point: safe point, live: rbx, [rbp-0x70] (interior)",
                     "0x20 safe_point: safe point, live: nothing",
                     "0x30 range_begin: range that may be interrupted, live: [rbp-0x70] (interior)",
                     "0x38 live: becomes live: rbx", "0x40 dead: dies: rbx, [rbp-0x70] (interior)",
                     "0x50 range_end: end of the range"});
  CHECK(describe_gc_slot(sample(), 2) == "[rsp+0x8] (pinned, untracked)");
  CHECK(to_json(marks[0]) == Json({{"kind", "safe_point"}, {"slots", {0, 1}}, {"text", marks[0].text}}));
}

TEST_CASE("a root as JSON") {
  RootRow row{
      .os_id = 77,
      .frame = 3,
      .ip = 0x1010,
      .sp = 0x7000,
      .answer = std::make_shared<const MethodAnswer>(),
      .cpu = Cpu::x64,
      .header = std::make_shared<const GcHeader>(*sample().header),
      .root = {.slot = sample().slots.slots[2], .address = 0x7008, .value = 0x9000, .why_uncertain = {}},
      .object = 0x9000,
      .type = "System.String"};
  Json json = Json::parse(json_text(row));
  CHECK(json["kind"] == "stack");
  CHECK(json["object"] == "0x9000");
  CHECK(json["type"] == "System.String");
  CHECK(json["slot"] == "0x7008");
  CHECK(json["base"] == "sp");
  CHECK(json["offset"] == 8);
  CHECK(json["thread"] == 77);
  CHECK(json["frame"] == 3);
  CHECK(json["certain"] == true);
  CHECK_FALSE(json.contains("register"));
  row.root = {.slot = {.reg = x64_register::rbx, .interior = true},
              .address = {},
              .value = 0x9008,
              .why_uncertain = "a reason"};
  row.object.reset();
  json = Json::parse(json_text(row));
  CHECK(json["object"].is_null());
  CHECK(json["value"] == "0x9008");
  CHECK(json["register"] == "rbx");
  CHECK_FALSE(json.contains("slot"));
  CHECK_FALSE(json.contains("type"));
  CHECK(json["certain"] == false);
  CHECK(json["why_uncertain"] == "a reason");
  CHECK(words_of(row) == std::vector<std::string_view>{"interior", "uncertain"});
  CHECK(place_of(row) == "rbx");
}
