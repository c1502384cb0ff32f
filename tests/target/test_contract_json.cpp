// The compact JSON form, after the reference reader's ParserTests.
#include "core/target/contract_descriptor.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <ctime>

using namespace clr;
using namespace clr::test;

namespace {

Fault parse_fault(const std::string& json) {
  return fault_of([&] { parse_contract_json(json); });
}

void check_corrupt(const std::string& json) {
  INFO(json.substr(0, 100));
  const auto fault = parse_fault(json);
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
}

std::string type_with(const std::string& members) {
  return R"({"types":{"T":{)" + members + "}}}";
}

std::string global_of(const std::string& value) {
  return R"({"globals":{"G":)" + value + "}}";
}

} // namespace

TEST_CASE("an empty object is a descriptor with nothing in it") {
  const ContractDescriptor d = parse_contract_json("{}");
  CHECK(d.version == 0);
  CHECK(d.baseline.empty());
  CHECK(d.types.empty());
  CHECK(d.globals.empty());
  CHECK(d.contracts.empty());
  CHECK(d.sub_descriptors.empty());
}

TEST_CASE("the trivial descriptor") {
  const ContractDescriptor d =
      parse_contract_json(R"({"version":0,"baseline":"empty","contracts":{},"types":{},"globals":{}})");
  CHECK(d.version == 0);
  CHECK(d.baseline == "empty");
  CHECK(d.types.empty());
  CHECK(d.globals.empty());
  CHECK(d.contracts.empty());
}

TEST_CASE("unknown members are skipped, and the version may be a string") {
  const ContractDescriptor d = parse_contract_json(R"({
    "version": "1",
    "extraObject": {"a": {"b": [1, null]}}, "extraArray": [1, 2, [3]], "extraString": "x", "extraNull": null})");
  CHECK(d.version == 1);
  CHECK(d.types.empty());
}

TEST_CASE("keys are case-sensitive") {
  const ContractDescriptor d =
      parse_contract_json(R"({"Version":7,"TYPES":{"T":{}},"Globals":{"G":1},"Contracts":{"C":1}})");
  CHECK(d.version == 0);
  CHECK(d.types.empty());
  CHECK(d.globals.empty());
  CHECK(d.contracts.empty());
}

TEST_CASE("types have sizes, offsets and annotations") {
  const ContractDescriptor d = parse_contract_json(R"({
    "types": {
      "pointer": {"!": 8}, "int": {"!": 4},
      "Point": {"x": [4, "int"], "y": 8, "!": 12},
      "Point3D": { // no size
        "r": [0, "double"], "phi": 8, /* and */ "rho": 16 },
      "Opaque": {}
    }})");
  REQUIRE(d.types.size() == 5);
  CHECK(d.types.at("pointer").size == 8u);
  CHECK(d.types.at("int").size == 4u);
  const TypeDescriptor& point = d.types.at("Point");
  CHECK(point.size == 12u);
  REQUIRE(point.fields.size() == 2);
  CHECK(point.fields.at("x").offset == 4);
  CHECK(point.fields.at("x").type == "int");
  CHECK(point.fields.at("y").offset == 8);
  CHECK(point.fields.at("y").type.empty());
  const TypeDescriptor& point3d = d.types.at("Point3D");
  CHECK_FALSE(point3d.size);
  REQUIRE(point3d.fields.size() == 3);
  CHECK(point3d.fields.at("r").type == "double");
  CHECK(point3d.fields.at("rho").offset == 16);
  CHECK_FALSE(d.types.at("Opaque").size);
  CHECK(d.types.at("Opaque").fields.empty());
}

TEST_CASE("offsets may be negative, text and hexadecimal") {
  const ContractDescriptor d = parse_contract_json(type_with(
      R"("a":-12,"b":"0x12","c":"-0x12","d":["0x100","int"],"e":"17","f":"-17","g":["-0X1F","p"])"));
  const auto& fields = d.types.at("T").fields;
  CHECK(fields.at("a").offset == -12);
  CHECK(fields.at("b").offset == 18);
  CHECK(fields.at("c").offset == -18);
  CHECK(fields.at("d").offset == 256);
  CHECK(fields.at("d").type == "int");
  CHECK(fields.at("e").offset == 17);
  CHECK(fields.at("f").offset == -17);
  CHECK(fields.at("g").offset == -31);
}

TEST_CASE("names differ by case, and contract versions are kept as they are written") {
  const ContractDescriptor d =
      parse_contract_json(R"({"contracts":{"foo":"c1","Foo":"c2","Thread":"C1","GC":"N2","Old":2}})");
  CHECK(d.contracts.size() == 5);
  CHECK(d.contracts.at("foo") == "c1");
  CHECK(d.contracts.at("Foo") == "c2");
  CHECK(d.contracts.at("Thread") == "C1");
  CHECK(d.contracts.at("GC") == "N2");
  CHECK(d.contracts.at("Old") == "2");
}

TEST_CASE("globals have four shapes, and numbers many forms") {
  struct Case {
    const char* json;
    std::optional<std::uint64_t> number;
    std::optional<std::string> text;
    const char* type;
    bool indirect;
  };
  const auto minus = [](std::uint64_t n) { return 0 - n; };
  const std::vector<Case> cases{
      {"1", 1, {}, "", false},
      {"[2]", 2, {}, "", true},
      {R"([3,"uint8"])", 3, {}, "uint8", false},
      {R"([[4],"uintptr"])", 4, {}, "uintptr", true},
      {R"("0x1234")", 0x1234, "0x1234", "", false},
      {"-2", minus(2), {}, "", false},
      {R"([-5,"int32"])", minus(5), {}, "int32", false},
      {R"("Hello")", {}, "Hello", "", false},
      {R"(["World","string"])", {}, "World", "string", false},
      {R"("\"Hello World\"")", {}, "\"Hello World\"", "", false},
      {"18446744073709551615", minus(1), {}, "", false},
      {"-9223372036854775808", 0x8000'0000'0000'0000, {}, "", false},
      {R"("17")", 17, "17", "", false},
      {R"("-2")", minus(2), "-2", "", false},
      {R"("-0xff")", minus(0xff), "-0xff", "", false},
      {R"("0x123456789abcdef")", 0x0123'4567'89ab'cdef, "0x123456789abcdef", "", false},
      {R"(["0x1234"])", 0x1234, "0x1234", "", true},
      {R"(["0x1234","int"])", 0x1234, "0x1234", "int", false},
      {R"([["0x1234"],"int"])", 0x1234, "0x1234", "int", true},
      {R"("0XFF")", 0xff, "0XFF", "", false},
      {R"("")", {}, "", "", false},
      {R"("-")", {}, "-", "", false},
      {R"("0x")", {}, "0x", "", false},
      {R"("12a")", {}, "12a", "", false},
      {R"("--1")", {}, "--1", "", false},
      {R"("18446744073709551616")", {}, "18446744073709551616", "", false},
      {R"("-9223372036854775809")", {}, "-9223372036854775809", "", false},
      {R"("-9223372036854775808")", 0x8000'0000'0000'0000, "-9223372036854775808", "", false},
      {R"(["✓","string"])", {}, "✓", "string", false},
  };
  for (const Case& c : cases) {
    INFO(c.json);
    const GlobalDescriptor global = parse_contract_json(global_of(c.json)).globals.at("G");
    CHECK(global.number == c.number);
    CHECK(global.text == c.text);
    CHECK(global.type == c.type);
    CHECK(global.indirect == c.indirect);
  }
}

TEST_CASE("comments and trailing commas are allowed") {
  const ContractDescriptor d = parse_contract_json(R"(// first
    {"globals": {"a": [1,], /* , } */ "b": [[2 , // ]
    ], "pointer" , ], "c": "text, } ] // no comment", "d": "quote \" , }", },
     "types": {"T": {"x": 4,},},})");
  CHECK(d.globals.at("a").indirect);
  CHECK(d.globals.at("b").indirect);
  CHECK(d.globals.at("b").number == 2u);
  CHECK(d.globals.at("c").text == "text, } ] // no comment");
  CHECK(d.globals.at("d").text == "quote \" , }");
  CHECK(d.types.at("T").fields.at("x").offset == 4);
}

TEST_CASE("sub-descriptors are listed; those that are not indirect are ignored") {
  const ContractDescriptor d =
      parse_contract_json(R"({"subDescriptors":{"GC":[[3],"pointer"],"Direct":[5,"pointer"],"Short":[4]}})");
  REQUIRE(d.sub_descriptors.size() == 2);
  CHECK(d.sub_descriptors.at("GC").number == 3u);
  CHECK(d.sub_descriptors.at("Short").number == 4u);
}

TEST_CASE("what the format does not allow is corrupt") {
  for (const char* text : {"", " ", "{}{}", "null{}", "null", "[]", "1", "\"x\"", "{", "{\"a\"}", "{} x",
                           "{,}", "{\"a\":1,,}", "{\"a\":[,]}", "{\"a\":,}"})
    check_corrupt(text);
  for (const char* text : {R"({"types":[]})", R"({"types":1})", R"({"globals":"x"})", R"({"contracts":[1]})",
                           R"({"subDescriptors":3})", R"({"version":{}})", R"({"version":"x"})",
                           R"({"version":4294967296})", R"({"baseline":3})", R"({"types":{"T":3}})"})
    check_corrupt(text);
  for (const char* value : {"null", "true", "{}", "[]", "[1,2]", "[1,\"a\",\"b\"]", "[[[1]],\"a\"]", "1.5",
                            "1e30", "[null]", "[\"text\"]", "[[\"text\"],\"a\"]", "[[],\"a\"]",
                            "[[1,2],\"a\"]", "18446744073709551616", "-9223372036854775809"})
    check_corrupt(global_of(value));
  for (const char* value : {"null", "true", "{}", "[]", "[1]", "[1,2]", "[1,\"a\",3]", "[[1],\"a\"]", "\"x\"",
                            "\"\"", "1.5", "18446744073709551611", "\"18446744073709551611\""})
    check_corrupt(type_with("\"f\":" + std::string(value)));
  for (const char* value : {"null", "\"8\"", "-1", "[8]", "1.0", "4294967296", "18446744073709551615"})
    check_corrupt(type_with("\"!\":" + std::string(value)));
  for (const char* value : {"null", "1.5", "[1]", "{}", "true"})
    check_corrupt(R"({"contracts":{"C":)" + std::string(value) + "}}");
}

TEST_CASE("a name given twice is corrupt") {
  check_corrupt(type_with(R"("field":1,"field":2)"));
  check_corrupt(type_with(R"("!":1,"!":2)"));
  check_corrupt(R"({"types":{"T":{},"T":{}}})");
  check_corrupt(R"({"globals":{"G":1,"G":1}})");
  check_corrupt(R"({"contracts":{"C":1,"C":2}})");
  const auto fault = parse_fault(type_with(R"("field":1,"field":2)"));
  CHECK(std::string(fault->what()).find("field") != std::string::npos);
  CHECK_FALSE(parse_fault(R"({"types":{"T":{"a":1},"U":{"a":1}}})")); // of two objects
}

TEST_CASE("implausible offsets and sizes are corrupt") {
  CHECK_FALSE(parse_fault(type_with(R"("f":65536,"g":-65536,"!":1048576)")));
  check_corrupt(type_with(R"("f":65537)"));
  check_corrupt(type_with(R"("f":-65537)"));
  check_corrupt(type_with(R"("f":"0x7fffffffffffffff")"));
  check_corrupt(type_with(R"("!":1048577)"));
}

TEST_CASE("only the empty baseline is known") {
  CHECK(parse_contract_json(R"({"baseline":""})").baseline.empty());
  const auto fault = parse_fault(R"({"baseline":"net9-release"})");
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::unsupported_contract);
  CHECK(std::string(fault->what()).find("net9-release") != std::string::npos);
}

TEST_CASE("torn and hostile JSON ends in a fault") {
  const std::string whole =
      R"({"version":0,"types":{"T":{"!":8,"f":[0,"pointer"]}},"globals":{"G":["0x1","uint8"],"P":[[1],"pointer"]},)"
      R"("contracts":{"C":2}} )";
  for (std::size_t length = 0; length < whole.size() - 1; ++length) check_corrupt(whole.substr(0, length));
  CHECK_FALSE(parse_fault(whole));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    for (const char c : {'\0', '\xff', '"', '}', '\\', '/', ','}) {
      damaged[i] = c;
      parse_fault(damaged); // any answer, but an answer
    }
  }
  const std::size_t deep = 1'000'000;
  check_corrupt(std::string(deep, '['));
  check_corrupt(R"({"x":)" + std::string(deep, '[') + std::string(deep, ']') + "}");
  check_corrupt(type_with("\"!\":" + std::string(1000, '[') + std::string(1000, ']')));
  check_corrupt("/*");
  check_corrupt("//");
  check_corrupt("{\"a");
  check_corrupt("{\"a\\");
}

// The processor time of a list and of a descriptor with that many empty objects.
static double time_of_empty_objects(std::size_t count) {
  std::string list = R"({"x":[{})", types = R"({"types":{"T":{})";
  for (std::size_t i = 0; i < count; ++i) {
    list += ",{}";
    types += ",\"" + std::to_string(i) + "\":{}";
  }
  const std::clock_t begun = std::clock();
  CHECK_FALSE(parse_fault(list + "]}"));
  CHECK(parse_contract_json(types + "}}").types.size() == count + 1);
  return static_cast<double>(std::clock() - begun);
}

TEST_CASE("the time that a descriptor takes grows with its text, not with its square") {
  // Sixteen times the objects: a square would take some 256 times as long.
  CHECK(time_of_empty_objects(160'000) < 64 * time_of_empty_objects(10'000));
}
