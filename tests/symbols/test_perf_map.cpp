// perf maps: the lines that the runtime writes, the lines that it damages, and every kind of wrong line.
#include "core/symbols/perf_map.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

PerfMap read(std::string_view text) {
  return read_perf_map(as_bytes_of(text), "/tmp/perf-42.map", "42");
}

const std::string ellipsis = "\xe2\x80\xa6";

std::string utf16(std::string_view ascii) {
  std::string out;
  for (const char c : ascii) out += {c, '\0'};
  return out;
}

} // namespace

TEST_CASE("Methods with tiers, stubs, and any JIT's lines", "[perfmap]") {
  const PerfMap map = read("0x7ff996cc0020 10a void [System.Private.CoreLib] "
                           "System.AppContext::Setup(char**,char**,int32)[QuickJitted]\n"
                           "0x7ff996c60000 10000 stub ReportStubBlock<Unknown>\n"
                           "7FF996D00000 1C LazyCompile:~add /src/x.js:3\r\n"
                           "b6f12340 4 arm::thumb\n");
  CHECK(map.lines == 4);
  CHECK(map.malformed.total() == 0);
  CHECK(map.symbols->space() == SymbolSpace::process);
  CHECK(map.symbols->identity() == "42");
  CHECK(map.symbols->made_from() == "perf map /tmp/perf-42.map");
  CHECK(whole(*map.symbols, 0x7ff996cc0020, 0x10a) ==
        "void [System.Private.CoreLib] System.AppContext::Setup(char**,char**,int32)[QuickJitted]");
  CHECK(at(*map.symbols, 0x7ff996cc012a) == "-");
  CHECK(whole(*map.symbols, 0x7ff996c60000, 0x10000) == "stub ReportStubBlock<Unknown>");
  CHECK(whole(*map.symbols, 0x7ff996d00000, 0x1c) == "LazyCompile:~add /src/x.js:3");
  CHECK(whole(*map.symbols, 0xb6f12340, 4) == "arm::thumb");
}

TEST_CASE("The last line of an address holds", "[perfmap]") {
  const PerfMap map =
      read("0x7000 40 A::One()[QuickJitted]\n0x7100 10 other\n0x7000 20 B::Two()[OptimizedTier1]\n");
  CHECK(whole(*map.symbols, 0x7000, 0x20) == "B::Two()[OptimizedTier1]");
  CHECK(whole(*map.symbols, 0x7020, 0x20) == "A::One()[QuickJitted]");
  CHECK(map.dropped.covered == 0);
  CHECK(read("0x7000 10 one\n0x7000 20 two\n").dropped.covered == 1);
}

TEST_CASE("Each class of malformed lines is counted, and the rest is used: perf map", "[perfmap]") {
  struct Case {
    std::string line;
    PerfMapFault what;
  };
  const Case cases[] = {
      {"xyz 10 name", PerfMap::bad_address},
      {"", PerfMap::bad_address},
      {" 0x10 10 name", PerfMap::bad_address},
      {"0x 10 name", PerfMap::bad_address},
      {"0x11111111111111111 10 name", PerfMap::large_address},
      {"0x2000", PerfMap::no_size},
      {"0x2000 ", PerfMap::no_size},
      {"0x2000 name", PerfMap::bad_size},
      {"0x2000 -1 name", PerfMap::bad_size},
      {"0x2000  10 name", PerfMap::bad_size},
      {"0x2000 100000000 name", PerfMap::large_size},
      {"0x2000 11111111111111111 name", PerfMap::large_size},
      {"0x2000 10", PerfMap::no_name},
      {"0x2000 10 ", PerfMap::no_name},
      {"0x2000 0 name", PerfMap::no_code},
      {"0xffffffffffffffff 2 name", PerfMap::past_end},
      {"\x90\xf5\x07Vk8 int32 [many] Many.Workload::Gr\xc3\xb6\xc3\x9f"
       "e(int32)",
       PerfMap::lost_start},
  };
  for (const Case& each : cases) {
    INFO(each.line);
    const PerfMap map = read("0x1000 20 A::M()\n" + each.line + "\n" + each.line + "\n0x3000 8 A::N()\n");
    REQUIRE(map.malformed.classes().size() == 1);
    CHECK(map.malformed.classes()[0].what == to_string(each.what));
    CHECK(map.malformed.classes()[0].count == 2);
    CHECK(map.malformed.classes()[0].first == 2);
    CHECK(map.lines == 4);
    CHECK(map.symbols->size() == 2);
    CHECK(whole(*map.symbols, 0x1000, 0x20) == "A::M()");
    CHECK(whole(*map.symbols, 0x3000, 8) == "A::N()");
  }
}

TEST_CASE("A name beyond ASCII that is whole is a name", "[perfmap]") {
  const PerfMap map = read("0x1000 20 int32 [many] Many.W\xc3\xb6rter::Gr\xc3\xb6\xc3\x9f"
                           "e()[QuickJitted]\n");
  CHECK(map.malformed.total() == 0);
  CHECK(whole(*map.symbols, 0x1000, 0x20) == "int32 [many] Many.W\xc3\xb6rter::Gr\xc3\xb6\xc3\x9f"
                                             "e()[QuickJitted]");
}

TEST_CASE("A line that lost its end has the next one hanging on it", "[perfmap]") {
  SECTION("only the tier is cut: it is made whole") {
    // As many bytes are lost as the name has more than letters, the line end among them.
    const PerfMap map = read("0x55f54e362a70 26 int32 [many] Many.Workload::Gr\xc3\xb6\xc3\x9f"
                             "enpr\xc3\xbc"
                             "fung(int32)[MinOptJitte"
                             "0x7f2545885b08 f stub CreateHelper<DynamicHelper>\n"
                             "0x7f2545885b20 8 next\n");
    CHECK(whole(*map.symbols, 0x55f54e362a70, 0x26) == "int32 [many] Many.Workload::Gr\xc3\xb6\xc3\x9f"
                                                       "enpr\xc3\xbc"
                                                       "fung(int32)[MinOptJitted]");
    CHECK(whole(*map.symbols, 0x7f2545885b08, 15) == "stub CreateHelper<DynamicHelper>");
    CHECK(whole(*map.symbols, 0x7f2545885b20, 8) == "next");
    CHECK(map.malformed.total() == 1);
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
    CHECK(map.malformed.classes()[0].first == 1);
  }
  SECTION("tiers that begin alike are told apart by what is lost") {
    const auto name = [](const std::string& tail) {
      return at(*read("0x1000 26 A::\xc3\xb6\xc3\xb6\xc3\xb6()" + tail + "0x7f2545885b08 f x\n").symbols,
                0x1000);
    };
    CHECK(name("[Optimize") == "A::\xc3\xb6\xc3\xb6\xc3\xb6()[Optimized]");
    CHECK(name("[OptimizedTie") == "A::\xc3\xb6\xc3\xb6\xc3\xb6()[OptimizedTie" + ellipsis);
    CHECK(name("[OptimizedTier") == "A::\xc3\xb6\xc3\xb6\xc3\xb6()[OptimizedTier1]");
  }
  SECTION("more is cut: the name says so") {
    const PerfMap map = read("0x1000 26 int32 [many] Many.Workload::Gr\xc3\xb6\xc3"
                             "0x7f2545885b08 f stub CreateHelper<DynamicHelper>\n");
    CHECK(whole(*map.symbols, 0x1000, 0x26) == "int32 [many] Many.Workload::Gr\xc3\xb6" + ellipsis);
    CHECK(whole(*map.symbols, 0x7f2545885b08, 15) == "stub CreateHelper<DynamicHelper>");
    CHECK(map.malformed.count_of(PerfMap::cut_name) == 1);
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
  }
  SECTION("the start was overwritten, with zeros, spaces and all") {
    const PerfMap map = read(
        std::string(
            "0x1000 8 A::M()\n\xd8H\xfa\xedMV\0\0\x9d\xdb\x07 8 int32 [many] Many.W\xc3\xb6::G()[QuickJitt",
            58) +
        "0x7f2545885b08 f stub CreateHelper<DynamicHelper>\n");
    CHECK(map.symbols->size() == 2);
    CHECK(whole(*map.symbols, 0x7f2545885b08, 15) == "stub CreateHelper<DynamicHelper>");
    CHECK(map.malformed.count_of(PerfMap::lost_start) == 1);
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
    CHECK(map.malformed.total() == 2);
  }
  SECTION("half of it as UTF-16, with half a letter at its end") {
    const PerfMap map = read(utf16("0x54fc1716a0 34 int32 [many] Many.Workl") + "o" +
                             "0x54fc171700 1c A::Next()[QuickJitted]\n");
    CHECK(whole(*map.symbols, 0x54fc1716a0, 0x34) == "int32 [many] Many.Workl" + ellipsis);
    CHECK(whole(*map.symbols, 0x54fc171700, 0x1c) == "A::Next()[QuickJitted]");
    CHECK(map.malformed.count_of(PerfMap::cut_name) == 1);
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
  }
  SECTION("UTF-16 with letters beyond ASCII, at the end of the file") {
    const PerfMap map = read(utf16("0x54fc1716a0 34 A::") + std::string("\xf6\0\x1a\x04\xac\x20\x00\xd8", 8));
    CHECK(whole(*map.symbols, 0x54fc1716a0, 0x34) ==
          "A::\xc3\xb6\xd0\x9a\xe2\x82\xac\xef\xbf\xbd" + ellipsis);
    CHECK(map.malformed.count_of(PerfMap::no_line_end) == 1);
  }
  SECTION("several in one line") {
    const PerfMap map = read("0x10000000 1 a0x20000000 2 b0x30000000 3 c\n");
    CHECK(at(*map.symbols, 0x10000000) == "a" + ellipsis);
    CHECK(whole(*map.symbols, 0x20000000, 2) == "b" + ellipsis);
    CHECK(whole(*map.symbols, 0x30000000, 3) == "c");
    CHECK(map.malformed.count_of(PerfMap::glued) == 2);
  }
}

TEST_CASE("Addresses within names are not lines of their own", "[perfmap]") {
  const std::string name = "int32 [varied] dynamicClass::Dyn0(System.Collections.Generic.List`1 /* MT: "
                           "0x7ff996da36a8 */<string>,0x1234 ab c)[Optimized]";
  // Too few digits, too many, no size, a size that is too long, nothing behind it.
  for (const std::string& each :
       {name, std::string("a 0x1234567 10 b"), std::string("a 0x11111111111111111 10 b"),
        std::string("a 0x12345678 b"), std::string("a 0x12345678 123456789 b"),
        std::string("a 0x12345678 10"), std::string("a 0x12345678 10 ")}) {
    const PerfMap map = read("0x1000 20 " + each + "\n");
    CHECK(map.malformed.total() == 0);
    CHECK(at(*map.symbols, 0x1000) == each);
  }
}

TEST_CASE("A last line without an end is used and counted: perf map", "[perfmap]") {
  const PerfMap map = read("0x1000 20 A::M()\n0x2000 8 A::N(");
  CHECK(map.malformed.count_of(PerfMap::no_line_end) == 1);
  CHECK(map.malformed.classes()[0].first == 2);
  CHECK(whole(*map.symbols, 0x2000, 8) == "A::N(");
}

TEST_CASE("Names taken apart", "[perfmap]") {
  const auto check = [](std::string_view name, std::string_view method, std::string_view tier, bool stub) {
    const PerfMapName parsed = parse_perf_map_name(name);
    CHECK(parsed.method == method);
    CHECK(parsed.tier == tier);
    CHECK(parsed.stub == stub);
  };
  check("void [a] A::M(int32[])[QuickJitted]", "void [a] A::M(int32[])", "QuickJitted", false);
  check("void [a] A::M()[OptimizedTier1OSR]", "void [a] A::M()", "OptimizedTier1OSR", false);
  check("void [a] A::M()[PreJit-cold]", "void [a] A::M()", "PreJit-cold", false);
  check("void [a] A::M()[mine]", "void [a] A::M()[mine]", "", false);
  check("int32[]", "int32[]", "", false);
  check("]", "]", "", false);
  check("", "", "", false);
  check("stub CreateHelper<DynamicHelper>", "CreateHelper<DynamicHelper>", "", true);
  check("stub<20564> AllocateTemporaryEntryPoints<PRECODE_STUB>",
        "AllocateTemporaryEntryPoints<PRECODE_STUB>", "", true);
  check("stub<1", "stub<1", "", false);
  check("stubborn()", "stubborn()", "", false);
}

TEST_CASE("The process that a file's name names", "[perfmap]") {
  CHECK(process_of_file_name("/tmp/perf-1234.map") == "1234");
  CHECK(process_of_file_name("perf-1.map") == "1");
  CHECK(process_of_file_name("/x.map/jit-77.dump") == "77");
  for (const char* other : {"", "perf-.map", "perf-12a.map", "/perf-1.map/x", "perf-1.map.old", "jit-1.map"})
    CHECK(process_of_file_name(other).empty());
}

TEST_CASE("What the runtime wrote, and what it damaged", "[perfmap]") {
  const auto load = [](const char* file) {
    static std::string text;
    text = read_text(std::string(CLR_TEST_DATA) + "/symbols/data/" + file);
    REQUIRE(text.size() > 1000);
    return read(text);
  };
  SECTION("x64: the start is overwritten, a line end in the midst") {
    const PerfMap map = load("perf-x64.map");
    CHECK(map.lines == 38);
    CHECK(map.malformed.count_of(PerfMap::lost_start) == 2);
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
    CHECK(map.malformed.total() == 3);
    CHECK(map.malformed.classes()[0].first == 33);
    CHECK(whole(*map.symbols, 0x7f0e3c5b10c8, 15) == "stub CreateHelper<DynamicHelper>");
    CHECK(whole(*map.symbols, 0x7f0dc086b080, 0x1c) ==
          "instance object [many] "
          "Many.Workload+<Iterate>d__19::System.Collections.Generic.IEnumerator<System.Object>."
          "get_Current()[QuickJitted]");
  }
  SECTION("arm64: half of it, as UTF-16") {
    const PerfMap map = load("perf-arm64.map");
    CHECK(map.malformed.count_of(PerfMap::cut_name) == 1);
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
    CHECK(map.malformed.total() == 2);
    CHECK(whole(*map.symbols, 0x54fc1716a0, 0x34) == "int32 [many] Many.Workl" + ellipsis);
    CHECK(whole(*map.symbols, 0x54fc16ef98, 0x20) == "stub CreateHelper<DynamicHelper>");
  }
  SECTION("musl: three bytes of its end are lost, and known") {
    const PerfMap map = load("perf-musl.map");
    CHECK(map.malformed.count_of(PerfMap::glued) == 1);
    CHECK(map.malformed.total() == 1);
    CHECK(map.symbols->size() == 9);
    CHECK(whole(*map.symbols, 0x55f54e362a70, 0x26) == "int32 [many] Many.Workload::Gr\xc3\xb6\xc3\x9f"
                                                       "enpr\xc3\xbc"
                                                       "fung(int32)[MinOptJitted]");
  }
  SECTION(".NET 8: a NUL for a line end") {
    const PerfMap map = load("perf-x64-8.map");
    CHECK(map.malformed.count_of(PerfMap::nul_line_end) == 1);
    CHECK(map.malformed.total() == 1);
    CHECK(map.symbols->size() == map.lines + 1);
    CHECK(map.dropped.total() + map.dropped.cut == 0);
    CHECK(whole(*map.symbols, 0x7fd7774096b0, 0x12e) ==
          "instance int32 [System.Private.CoreLib] "
          "System.Text.Encoding::GetBytes(char*,int32,uint8*,int32,class "
          "System.Text.EncoderNLS)[OptimizedTier1]");
    CHECK_THAT(at(*map.symbols, 0x7fd777409800),
               Catch::StartsWith("instance void [System.Private.CoreLib] System.IO"));
  }
  SECTION(".NET 9: stubs have numbers") {
    const PerfMap map = load("perf-x64-9.map");
    CHECK(map.malformed.count_of(PerfMap::lost_start) == 1);
    CHECK(map.malformed.total() == 2);
    const auto stub = map.symbols->find(0x7f0e6f1e0425);
    REQUIRE(stub);
    CHECK(stub->function == "stub<1> GenerateLookupStub<GenerateLookupStub>");
    CHECK(parse_perf_map_name(stub->function).stub);
  }
}
