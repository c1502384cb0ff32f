// Breakpoints as LLDB 14 to 19 serialize them, and in the form of their commands.
#include "core/types/user_method.h"
#include "extension/breakpoints/breakpoint_wish.h"

#include <catch2/catch.hpp>

using namespace clr;
using Kind = BreakpointWish::Kind;

namespace {

BreakpointWish arguments(std::vector<std::string_view> words) {
  return wish_of_arguments(words);
}

Method method(std::string name, std::string full_name) {
  Method made;
  made.name = std::move(name);
  made.full_name = std::move(full_name);
  return made;
}

} // namespace

namespace {
// As LLDB 14, 15, 16 and 19 write a breakpoint.
BreakpointWish serialized(const std::string& type, const std::string& options) {
  return wish_of_serialized(
      R"({"Breakpoint":{"BKPTOptions":{"AutoContinue":false,"EnabledState":true},"BKPTResolver":{"Options":{)" +
      options + R"(},"Type":")" + type +
      R"("},"Hardware":false,"SearchFilter":{"Options":{},"Type":"Unconstrained"}}})");
}
} // namespace

TEST_CASE("what LLDB serializes tells what a breakpoint is for", "[breakpoint_wish]") {
  CHECK(serialized("SymbolName", R"("NameMask":[56],"Offset":0,"SymbolNames":["Worker.Tick"])") ==
        BreakpointWish{Kind::name, {"Worker.Tick"}, {}, 0});
  CHECK(serialized("SymbolName", R"("NameMask":[56,36],"SymbolNames":["a","Ns.b"])") ==
        BreakpointWish{Kind::name, {"a", "Ns.b"}, {}, 0});
  CHECK(serialized("FileAndLine", R"("Column":2,"Exact":false,"FileName":"/src/it's.cs","LineNumber":41)") ==
        BreakpointWish{Kind::line, {}, "/src/it's.cs", 41});
  CHECK(serialized("SymbolName", R"("Offset":0,"Regex":"Foo.*","SkipPrologue":true)") ==
        BreakpointWish{Kind::pattern, {"Foo.*"}, {}, 0});
  CHECK(serialized("SourceRegex", R"("Exact":false,"Regex":"Foo")").kind == Kind::pattern);
  CHECK(serialized("Address", R"("AddressOffset":4096,"Offset":0)").kind == Kind::address);
  CHECK(serialized("Exception", "").kind == Kind::unknown);
  CHECK(serialized("SymbolName", R"("NameMask":[4,8,16],"SymbolNames":["Ns.b","Ns.b","a","Ns.b"])").names ==
        std::vector<std::string>{"Ns.b", "a"});
  CHECK(serialized("SymbolName", R"("SymbolNames":[])").kind == Kind::unknown);
  CHECK(serialized("FileAndLine", R"("FileName":"x.cs")") == BreakpointWish{});
  CHECK(serialized("FileAndLine", R"("FileName":7,"LineNumber":"x")") == BreakpointWish{});
  for (const char* odd : {"", "{", "[]", "7", "{\"Breakpoint\":{}}", "{\"Breakpoint\":[1,2]}"}) {
    CAPTURE(odd);
    CHECK(wish_of_serialized(odd) == BreakpointWish{});
  }
}

TEST_CASE("the words of breakpoint set tell the same", "[breakpoint_wish]") {
  CHECK(arguments({"--name", "Tick"}) == BreakpointWish{Kind::name, {"Tick"}, {}, 0});
  CHECK(arguments({"-nTick", "-n", "Tock"}) == BreakpointWish{Kind::name, {"Tick", "Tock"}, {}, 0});
  CHECK(arguments({"--name=Tick"}) == BreakpointWish{Kind::name, {"Tick"}, {}, 0});
  CHECK(arguments({"-F", "Ns.T.Tick", "--one-shot", "true"}) ==
        BreakpointWish{Kind::name, {"Ns.T.Tick"}, {}, 0});
  CHECK(arguments({"--file", "/src/Program.cs", "--line", "41"}) ==
        BreakpointWish{Kind::line, {}, "/src/Program.cs", 41});
  CHECK(arguments({"-l", "7"}) == BreakpointWish{Kind::line, {}, {}, 7});
  CHECK(arguments({"-y", "Program.cs:41:3"}) == BreakpointWish{Kind::line, {}, "Program.cs", 41});
  CHECK(arguments({"-r", "Wor.*"}) == BreakpointWish{Kind::pattern, {"Wor.*"}, {}, 0});
  CHECK(arguments({"-a", "0x1000"}).kind == Kind::address);
  CHECK(arguments({}).kind == Kind::unknown);
  CHECK(arguments({"--name"}) == BreakpointWish{Kind::name, {""}, {}, 0});
  CHECK(arguments({"--line", "many"}) == BreakpointWish{Kind::line, {}, {}, 0});
}

TEST_CASE("methods that a breakpoint may mean", "[breakpoint_wish]") {
  const Method swap = method("Demo.Pair`1.Swap", "Demo.Pair<int>.Swap(int)");
  const std::vector<std::string> files{"/home/me/src/Program.cs"};
  CHECK(may_concern({Kind::name, {"Swap"}, {}, 0}, swap, {}));
  CHECK(may_concern({Kind::name, {"nothing", "Pair.Swap"}, {}, 0}, swap, {}));
  CHECK_FALSE(may_concern({Kind::name, {"Pair.Swop"}, {}, 0}, swap, {}));
  CHECK(may_concern({Kind::line, {}, "Program.cs", 1}, swap, files));
  CHECK(may_concern({Kind::line, {}, "C:\\src\\Program.cs", 1}, swap, files));
  CHECK_FALSE(may_concern({Kind::line, {}, "Other.cs", 1}, swap, files));
  CHECK_FALSE(may_concern({Kind::line, {}, "Program.cs", 1}, swap, {}));
  CHECK(may_concern({Kind::pattern, {"x"}, {}, 0}, swap, {}));
  CHECK(may_concern({Kind::unknown, {}, {}, 0}, swap, {}));
  CHECK_FALSE(may_concern({Kind::address, {}, {}, 0}, swap, {}));

  // The body of a state machine by the name of the method that the user wrote.
  Method body = method("Demo.Worker.<>c.MoveNext", "Demo.Worker.<>c.MoveNext()");
  CHECK_FALSE(may_concern({Kind::name, {"Worker.RunAsync"}, {}, 0}, body, {}));
  body.user = std::make_shared<UserMethod>(UserMethod{"Demo.Worker.RunAsync(int)", "async", 0});
  CHECK(may_concern({Kind::name, {"Worker.RunAsync"}, {}, 0}, body, {}));
}

TEST_CASE("a breakpoint by a name with escapes concerns the method that is shown so") {
  const Method odd = method("T.Re\x1bset", "T.Re\x1bset(int)");
  CHECK(may_concern({Kind::name, {"T.Re\\x1bset"}, {}, 0}, odd, {}));
  CHECK_FALSE(may_concern({Kind::name, {"T.Re\\x1cset"}, {}, 0}, odd, {}));
  const std::vector<std::string> files{"/src/od\x1b.cs"};
  CHECK(may_concern({Kind::line, {}, "od\\x1b.cs", 5}, odd, files));
  CHECK_FALSE(may_concern({Kind::line, {}, "other.cs", 5}, odd, files));
}
