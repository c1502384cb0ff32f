#include "core/report/json.h"
#include "core/runtime/runtime.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace clr;

namespace {
Method sample_method() {
  Method method;
  method.name = "Ns.Outer+Inner.Run";
  method.full_name = "Ns.Outer.Inner<int>.Run<string>(int, string[])";
  method.signature_known = true;
  method.module = "app.dll";
  method.module_path = "/srv/app.dll";
  method.token = 0x06000123;
  method.method_desc = 0x7f0000001000;
  method.method_table = 0x7f0000002000;
  method.name_from = NameSource::memory;
  method.kind = MethodKind::il;
  return method;
}

runtime::Code sample_code() {
  runtime::Code code;
  code.tier = Tier::tier1;
  code.start = 0x7f0000abc000;
  code.offset = 44;
  code.regions = {{CodePart::hot, 0x7f0000abc000, 112}, {CodePart::cold, 0x7f0000def000, 16}};
  return code;
}
} // namespace

TEST_CASE("addresses are lower case, prefixed and not padded") {
  CHECK(hex(0) == "0x0");
  CHECK(hex(0x7F00ABC) == "0x7f00abc");
  CHECK(hex(~std::uint64_t{0}) == "0xffffffffffffffff");
}

TEST_CASE("a method answer has the published shape") {
  const runtime::Answer answer{
      0x7f0000abc02c, MethodAnswer{sample_method(), sample_code(), SourceLine{12, "/src/P.cs", 41, 9}}};
  const Json json = to_json(answer);
  CHECK(
      dump(json["method"]) ==
      R"x({"name":"Ns.Outer+Inner.Run","full_name":"Ns.Outer.Inner<int>.Run<string>(int, string[])",)x"
      R"x("sos_name":"Ns.Outer.Inner<int>.Run<string>(int, string[])","signature_known":true,"module":"app.dll","module_path":"/srv/app.dll","token":"0x6000123",)x"
      R"x("method_desc":"0x7f0000001000","method_table":"0x7f0000002000","name_from":"memory","kind":"il"})x");
  CHECK(dump(json["code"]) == R"x({"kind":"jitted","tier":"tier1","start":"0x7f0000abc000","offset":44,)x"
                              R"x("regions":[{"part":"hot","start":"0x7f0000abc000","size":112},)x"
                              R"x({"part":"cold","start":"0x7f0000def000","size":16}]})x");
  CHECK(dump(json["source"]) == R"x({"il_offset":12,"file":"/src/P.cs","line":41,"column":9})x");
  CHECK(json["result"] == "method");
  CHECK(json.begin().key() == "address");
  Method suspended = sample_method();
  CHECK_FALSE(to_json(suspended).contains("runtime_async"));
  suspended.runtime_async = true;
  CHECK(to_json(suspended)["runtime_async"] == true);
}

TEST_CASE("what does not apply is absent, what is not known is null, zero is a value") {
  Method method;
  method.name_from = NameSource::token;
  method.degraded = "metadata: memory at 0x1000 is not available";
  const Json json = to_json(method);
  CHECK(json["name"].is_null());
  CHECK(json["module"].is_null());
  CHECK_FALSE(json.contains("token"));
  CHECK_FALSE(json.contains("method_desc"));
  CHECK_FALSE(json.contains("module_path"));
  CHECK(json["degraded"] == "metadata: memory at 0x1000 is not available");

  runtime::Code code;
  code.start = 0x1000;
  code.fault = "size: memory at 0x2000 is not available";
  Json unknown = to_json(code);
  CHECK(unknown["tier"].is_null());
  CHECK(unknown["regions"].is_null());
  CHECK_FALSE(unknown.contains("offset"));
  CHECK_FALSE(unknown.contains("funclet"));
  CHECK(unknown["fault"] == "size: memory at 0x2000 is not available");
  code.offset = 0;
  code.funclet = 0x1040;
  CHECK(to_json(code)["offset"] == 0);
  CHECK(to_json(code)["funclet"] == "0x1040");

  const Json source = to_json(SourceLine{.il_offset = 0});
  CHECK(source["il_offset"] == 0);
  CHECK_FALSE(source.contains("file"));
  CHECK_FALSE(source.contains("line"));
}

TEST_CASE("misses and faults say why") {
  MissAnswer miss{.reason = MissReason::precode, .text = "precode (fixup) of Ns.Type.M()"};
  miss.method = sample_method();
  const Json precode = to_json(runtime::Answer{0x1000, miss});
  CHECK(precode["result"] == "miss");
  CHECK(precode["reason"] == "precode");
  CHECK(precode["text"] == "precode (fixup) of Ns.Type.M()");
  CHECK(precode["method"]["token"] == "0x6000123");
  CHECK_FALSE(precode.contains("symbol"));

  const Json native = to_json(runtime::Answer{0x1000, MissAnswer{.reason = MissReason::native,
                                                                 .text = "native code of libc.so.6",
                                                                 .method = {},
                                                                 .module = "libc.so.6",
                                                                 .symbol = "libc.so.6`read + 18"}});
  CHECK(native["reason"] == "native");
  CHECK(native["symbol"] == "libc.so.6`read + 18");

  const Json fault =
      to_json(runtime::Answer{0x1000, to_fault(Error(ErrorKind::memory_missing, 0x2ff0, "memory is gone"))});
  CHECK(dump(fault) == R"({"address":"0x1000","result":"fault","reason":"memory_missing","at":"0x2ff0",)"
                       R"("text":"memory is gone"})");
  CHECK_FALSE(to_json(runtime::Answer{0, to_fault(Error(ErrorKind::corrupt, "bad"))}).contains("at"));
}

TEST_CASE("names that are not UTF-8 do not break the document") {
  Method method = sample_method();
  method.name = "Ns.\xff\xfeX";
  CHECK(dump(to_json(method)).find("Ns.\xef\xbf\xbd\xef\xbf\xbdX") != std::string::npos);
}

TEST_CASE("what a terminal would obey is escaped, and means the same") {
  const std::string name = "a\x1b[2J\n\x7f\u009b\u202e\u2028\u00e9";
  const std::string text = dump(Json{{"name", name}});
  CHECK(text == "{\"name\":\"a\\u001b[2J\\n\\u007f\\u009b\\u202e\\u2028\u00e9\"}");
  CHECK(Json::parse(text)["name"] == name);
}

TEST_CASE("frames and threads have the published shape") {
  FrameRow frame;
  frame.index = 3;
  frame.kind = "managed";
  frame.ip = 0x7f0000abc02c;
  frame.sp = 0x7ffc0000;
  frame.found_by = "unwind_info";
  frame.answer =
      std::make_shared<const MethodAnswer>(MethodAnswer{sample_method(), sample_code(), std::nullopt});
  const Json json = to_json(frame);
  CHECK(json["index"] == 3);
  CHECK(json["sp"] == "0x7ffc0000");
  CHECK(json["found_by"] == "unwind_info");
  CHECK(json["text"] == "0x00007f0000abc02c app.dll`Ns.Outer.Inner<int>.Run<string>(int, string[]) + 44");
  CHECK(json["repeat"] == 1);
  CHECK_FALSE(json.contains("fault"));
  CHECK_FALSE(json.contains("symbol"));
  CHECK(json["method"]["name"] == "Ns.Outer+Inner.Run");

  ThreadRow thread;
  thread.index = 1;
  thread.os_id = 4711;
  CHECK(dump(to_json(thread)) == R"({"index":1,"os_id":4711,"selected":false})");
  thread.managed_id = 0;
  thread.name = "main";
  CHECK(dump(to_json(thread)) == R"({"index":1,"os_id":4711,"managed_id":0,"name":"main","selected":false})");
}

TEST_CASE("counts that could not be had are null in clr info") {
  RuntimeInfo info;
  info.name = "CoreCLR";
  info.contracts = {{"ExecutionManager", "2", true}, {"GC", "1", false}};
  info.jitted_methods = 0;
  const Json json = to_json(info);
  CHECK(json["schema"] == 1);
  CHECK(json["runtime"]["name"] == "CoreCLR");
  CHECK(json["runtime"]["version"].is_null());
  CHECK_FALSE(json.contains("descriptor"));
  CHECK(json["contracts"]["ExecutionManager"]["version"] == "2");
  CHECK(json["contracts"]["ExecutionManager"]["used"] == true);
  CHECK(json["contracts"]["GC"]["used"] == false);
  CHECK(json["range_sections"].is_null());
  CHECK(json["jitted_methods"] == 0);
}

TEST_CASE("a list is written while it is made, one element a line") {
  std::string text;
  JsonList list([&](std::string_view piece) { text += piece; });
  list.add(Json(1));
  CHECK(text == "[\n1");
  list.add(Json("x"));
  list.end();
  CHECK(text == "[\n1,\n\"x\"\n]");

  std::string empty;
  JsonList none([&](std::string_view piece) { empty += piece; });
  none.end();
  CHECK(empty == "[]");
}
