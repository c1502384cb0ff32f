// JSON as text is what a tree of the same values prints.
#include "core/report/answer_json.h"
#include "core/report/json.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <limits>

using namespace clr;

namespace {

std::string written(std::string_view text) {
  std::string out;
  JsonWriter(out).text(text);
  return out;
}

FrameRow managed_row(unsigned index, Address ip, std::shared_ptr<const MethodAnswer> answer) {
  FrameRow row;
  row.index = index;
  row.kind = "managed";
  row.ip = ip;
  row.sp = 0x7ffc'0000 + index;
  row.found_by = "unwind_info";
  row.answer = std::move(answer);
  return row;
}

std::shared_ptr<const MethodAnswer> answer_named(const std::string& name) {
  MethodAnswer answer;
  answer.method.name = answer.method.full_name = name;
  answer.method.module = "app.dll";
  answer.code.start = 0x1000;
  answer.code.offset = 44;
  answer.source = SourceLine{.il_offset = 3, .file = "/src/\"quoted\".cs", .line = 41, .column = 9};
  return std::make_shared<const MethodAnswer>(std::move(answer));
}

} // namespace

TEST_CASE("json writer: every byte is escaped as in a tree") {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string text = std::string("a") + static_cast<char>(byte) + "b";
    CHECK(written(text) == dump(Json(text)));
  }
  for (const std::string text :
       {"", "plain <T>(int, string[])", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82", "\xf0\x9f\x98",
        "\xc0\xaf", "\xed\xa0\x80", "\x7f", "\xe2\x80\xae", "\xc2\x9b"})
    CHECK(written(text) == dump(Json(text)));
}

TEST_CASE("json writer: commas stand between members and elements, also across pieces") {
  std::string out, all;
  JsonWriter json(out);
  const auto take = [&] {
    all += out;
    out.clear();
  };
  json.begin_object();
  json.number("n", std::numeric_limits<std::uint64_t>::max());
  take();
  json.key("list");
  json.begin_array();
  take();
  json.begin_object();
  json.end_object();
  take();
  json.raw("1,2");
  json.null();
  json.begin_array();
  json.end_array();
  json.end_array();
  take();
  json.hex("at", 0x7f00'0abc);
  json.hex("zero", 0);
  json.boolean("yes", true);
  json.text_or_null("none", "");
  json.end_object();
  take();
  CHECK(all ==
        R"({"n":18446744073709551615,"list":[{},1,2,null,[]],"at":"0x7f000abc","zero":"0x0","yes":true,)"
        R"("none":null})");
}

TEST_CASE("json writer: frames that share an answer differ in what is theirs") {
  const auto run = answer_named("Ns.Run"), other = answer_named("Ns.Other\t");
  FrameJson frames;
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  frames.write(json, managed_row(0, 0x102c, run));
  frames.write(json, managed_row(1, 0x202c, other));
  frames.write(json, managed_row(2, 0x102c, run));
  FrameRow native;
  native.index = 3;
  native.ip = 0x30;
  native.module = "libc.so.6";
  native.symbol = "read";
  native.fault = "memory is gone";
  frames.write(json, native);
  FrameRow explicit_frame;
  explicit_frame.index = 4;
  explicit_frame.kind = "runtime";
  explicit_frame.frame_type = "InlinedCallFrame";
  frames.write(json, explicit_frame);
  json.end_array();
  const Json list = Json::parse(out);
  REQUIRE(list.size() == 5);
  CHECK(dump(list[2]) ==
        R"x({"index":2,"kind":"managed","ip":"0x102c","sp":"0x7ffc0002","found_by":"unwind_info",)x"
        R"x("text":"0x000000000000102c app.dll`Ns.Run + 44 at \"quoted\".cs:41:9",)x"
        R"x("method":{"name":"Ns.Run","full_name":"Ns.Run","sos_name":"Ns.Run","signature_known":false,)x"
        R"x("module":"app.dll","name_from":"token","kind":"unknown"},)x"
        R"x("code":{"kind":"jitted","tier":null,"start":"0x1000","offset":44,"regions":null},)x"
        R"x("source":{"il_offset":3,"file":"/src/\"quoted\".cs","line":41,"column":9},"repeat":1})x");
  CHECK(list[1]["text"] == "0x000000000000202c app.dll`Ns.Other\t + 44 at \"quoted\".cs:41:9");
  CHECK(list[0]["method"] == list[2]["method"]);
  CHECK(dump(list[3]) == R"({"index":3,"kind":"native","ip":"0x30","sp":null,"found_by":"",)"
                         R"("text":"0x0000000000000030 libc.so.6`read","module":"libc.so.6","symbol":"read",)"
                         R"("repeat":1,"fault":"memory is gone"})");
  CHECK_FALSE(list[4].contains("ip"));
  CHECK(dump(list[0]) == dump(to_json(managed_row(0, 0x102c, run))));
}

TEST_CASE("json writer: a frame says what people are not shown of it") {
  MethodAnswer answer;
  answer.method.kind = MethodKind::async_thunk;
  FrameJson frames;
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  const auto shared = std::make_shared<const MethodAnswer>(std::move(answer));
  for (const unsigned index : {0, 3}) frames.write(json, managed_row(index, 0x102c, shared));
  json.end_array();
  const Json list = Json::parse(out);
  CHECK_FALSE(list[0].contains("folded")); // the thread stands in it
  CHECK(list[1]["folded"] == "async_thunk");
}

TEST_CASE("json writer: more answers than are kept are written all the same") {
  FrameJson frames;
  for (unsigned i = 0; i < FrameJson::max_known + 10; ++i) {
    std::string out;
    JsonWriter json(out);
    const auto answer = answer_named("Ns.M" + std::to_string(i));
    frames.write(json, managed_row(i, i, answer));
    frames.write(json, managed_row(i, i, answer));
    if (i % 1000 == 0 || i + 1 == FrameJson::max_known + 10)
      CHECK(out.find("Ns.M" + std::to_string(i) + " +") != std::string::npos);
  }
}
