#include "core/report/heap_summary_file.h"

#include "core/memory/error.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace clr;

namespace {

HeapSummary sample() {
  return {.all = {.objects = 12, .bytes = 424},
          .free = {.objects = 1, .bytes = 24},
          .types = {{"Shop.\xc3\x84pfel", "a.dll", {10, 400}}, {"byte[]", "", {2, 24}}},
          .warnings = {"8 of 448 bytes of the heap are missing"}};
}

ErrorKind refusal(const std::string& text, std::string& why) {
  try {
    parse_heap_summary(text, "x.heap");
  } catch (const Error& error) {
    why = error.what();
    return error.kind();
  }
  why.clear();
  return ErrorKind::internal;
}

} // namespace

TEST_CASE("a summary of a heap is read as it was written") {
  const HeapSummary read = parse_heap_summary(heap_summary_text(sample()), "x.heap");
  CHECK(read.all.objects == 12);
  CHECK(read.all.bytes == 424);
  CHECK(read.free.objects == 1);
  CHECK(read.free.bytes == 24);
  CHECK(read.warnings == sample().warnings);
  REQUIRE(read.types.size() == 2);
  CHECK(read.types[0].name == "Shop.\xc3\x84pfel");
  CHECK(read.types[0].module == "a.dll");
  CHECK(read.types[0].count.objects == 10);
  CHECK(read.types[0].count.bytes == 400);
  CHECK(read.types[1].module.empty());
  CHECK(compare(sample(), read).rows.empty());
}

TEST_CASE("what is no summary of a heap is refused with a sentence") {
  std::string why;
  for (const char* const text :
       {"", "hello", "[1]", "{}", "{\"lldb_clr_heap_summary\":\"1\"}", "\"", "nul"}) {
    CAPTURE(text);
    CHECK(refusal(text, why) == ErrorKind::invalid_argument);
    CHECK(why == "x.heap is neither a core nor a summary that clr heap --save wrote");
  }
  // A tree takes many times the bytes of its text.
  CHECK(refusal(std::string(1 << 20, '['), why) == ErrorKind::corrupt);
  CHECK(why == "x.heap is damaged: JSON that is nested more than 64 deep");
  std::string many = "[";
  for (std::size_t i = 0; i < max_heap_summary_values; ++i) many += "{},";
  CHECK(refusal(many + "0]", why) == ErrorKind::corrupt);
  CHECK(why == "x.heap is damaged: JSON of more than 4000000 values");
  // Each member of an object is compared with those before it.
  std::string members = "{\"0\":0";
  for (std::size_t i = 1; i < 40'000; ++i) members += fmt::format(",\"{}\":0", i);
  CHECK(refusal(members + "}", why) == ErrorKind::corrupt);
  CHECK(why == "x.heap is damaged: JSON with an object of more than 1024 members");
  CHECK(refusal(R"({"lldb_clr_heap_summary":2})", why) == ErrorKind::unsupported_contract);
  CHECK(why == "x.heap has form 2 of a later lldb-clr; this one reads form 1");
}

TEST_CASE("a damaged summary of a heap is refused, and never read as zero") {
  std::string why;
  const Json whole = Json::parse(heap_summary_text(sample()));
  for (const char* const name : {"objects", "bytes", "free_objects", "free_bytes", "warnings", "types"}) {
    CAPTURE(name);
    for (const Json& value :
         {Json(), Json(-1), Json(1.5), Json("1"), Json(~std::uint64_t{0}), Json::object()}) {
      Json damaged = whole;
      damaged[name] = value;
      CHECK(refusal(damaged.dump(), why) == ErrorKind::corrupt);
      CHECK_THAT(why, Catch::StartsWith("x.heap is damaged: "));
    }
    Json damaged = whole;
    damaged.erase(name);
    CHECK(refusal(damaged.dump(), why) == ErrorKind::corrupt);
  }
  for (const char* const name : {"name", "module", "count", "bytes"}) {
    CAPTURE(name);
    Json damaged = whole;
    damaged["types"][1].erase(name);
    CHECK(refusal(damaged.dump(), why) == ErrorKind::corrupt);
    damaged["types"][1][name] = Json::array();
    CHECK(refusal(damaged.dump(), why) == ErrorKind::corrupt);
  }
}

TEST_CASE("the comparison of two summaries as JSON") {
  HeapSummary later = sample();
  later.types[0].count = {15, 600};
  later.types[1].count = {};
  later.all = {.objects = 15, .bytes = 600};
  const Json json = to_json(compare(sample(), later), "x.heap");
  CHECK(json["other"] == "x.heap");
  CHECK(json["objects"] == Json({12, 15}));
  CHECK(json["bytes"] == Json({424, 600}));
  CHECK(json["changed"] == 2);
  CHECK(json["types"][0] == Json({{"name", "Shop.\xc3\x84pfel"},
                                  {"module", "a.dll"},
                                  {"change", "grown"},
                                  {"count", {10, 15}},
                                  {"bytes", {400, 600}}}));
  CHECK(json["types"][1]["change"] == "gone");
  CHECK(json["types"][1]["module"].is_null());
}
