// R2R perf maps: real ones of crossgen2, and every kind of wrong line.
#include "core/symbols/r2r_perf_map.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <sstream>

using namespace clr;
using namespace clr::test;

namespace {

const std::string header = "FFFFFFFF 00 734D0A1B2C3D4E5F60718293A4B58097\n"
                           "FFFFFFFE 00 1\n"
                           "FFFFFFFD 00 2\n"
                           "FFFFFFFC 00 3\n"
                           "FFFFFFFB 00 1\n";

R2rPerfMap read(const std::string& text) {
  return read_r2r_perf_map(as_bytes_of(text), "x.ni.r2rmap");
}

std::string refused(const std::string& text) {
  const auto fault = fault_of([&] { read(text); });
  if (!fault) return "accepted";
  return std::string(to_string(fault->kind())) + ": " + fault->what();
}

} // namespace

TEST_CASE("Every entry of the compiler's maps has its name at first, middle and last byte", "[r2rmap]") {
  struct Sample {
    const char* file;
    const char* signature;
    PerfMapOs os;
    PerfMapArchitecture architecture;
  };
  const Sample samples[] = {
      {"metadata/data/names-x64.ni.r2rmap", "0EFFE99B0757A064DA7592946DE32C99", PerfMapOs::linux_,
       PerfMapArchitecture::x64},
      {"metadata/data/names-arm64.ni.r2rmap", "6A3479C7793AC082130B84DF6416DBC4", PerfMapOs::linux_,
       PerfMapArchitecture::arm64},
      {"metadata/data/names-arm.ni.r2rmap", "E07FF45380267E448DD2724A19A10BB8", PerfMapOs::linux_,
       PerfMapArchitecture::arm},
      {"metadata/data/names-x86.ni.r2rmap", "DEC905AA88904E45C2A2F532727A7B57", PerfMapOs::windows,
       PerfMapArchitecture::x86},
      {"metadata/data/composite.r2r.ni.r2rmap", "0EFFE99B0757A064DA7592946DE32C99", PerfMapOs::linux_,
       PerfMapArchitecture::x64},
      {"execution/data/cold-x64.ni.r2rmap", nullptr, PerfMapOs::linux_, PerfMapArchitecture::x64},
  };
  for (const Sample& sample : samples) {
    const std::string text = read_text(std::string(CLR_TEST_DATA) + "/" + sample.file);
    REQUIRE(text.size() > 200);
    const R2rPerfMap map = read(text);
    CHECK(map.malformed.total() == 0);
    CHECK(map.dropped.total() == 0);
    REQUIRE(map.header.signature);
    if (sample.signature != nullptr) CHECK(digits_of(*map.header.signature) == sample.signature);
    CHECK(map.symbols->identity() == digits_of(*map.header.signature));
    CHECK(map.header.version == 1u);
    CHECK(map.header.os == sample.os);
    CHECK(map.header.architecture == sample.architecture);
    CHECK(map.header.abi == PerfMapAbi::default_);
    CHECK(map.symbols->space() == SymbolSpace::image);
    CHECK(map.symbols->base() == 0);
    // Another reading of the same lines.
    std::istringstream lines(text);
    std::size_t entries = 0;
    std::uint64_t last_end = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::uint64_t rva = std::stoull(line.substr(0, 8), nullptr, 16);
      if (rva >= 0xfffffff0) continue;
      const std::size_t space = line.find(' ', 9);
      const std::uint64_t length = std::stoull(line.substr(9, space - 9), nullptr, 16);
      if (whole(*map.symbols, rva, length) != line.substr(space + 1))
        FAIL(sample.file << ": " << line << " -> " << whole(*map.symbols, rva, length));
      if (last_end < rva) CHECK(at(*map.symbols, last_end) == "-");
      last_end = rva + length;
      ++entries;
    }
    CHECK(at(*map.symbols, last_end) == "-");
    CHECK(map.records == entries);
    CHECK(map.symbols->size() == entries);
  }
}

TEST_CASE("All values of the header's records have the tools' names", "[r2rmap]") {
  const std::vector<std::string> systems{"Unknown", "Windows", "Linux", "OSX", "FreeBSD",
                                         "NetBSD",  "SunOS",   "Haiku", "8"};
  for (std::uint32_t i = 0; i < systems.size(); ++i)
    CHECK(to_string(static_cast<PerfMapOs>(i)) == systems[i]);
  const std::vector<std::string> cpus{"Unknown", "ARM", "ARM64", "X64", "X86", "RiscV64", "LoongArch64", "7"};
  for (std::uint32_t i = 0; i < cpus.size(); ++i)
    CHECK(to_string(static_cast<PerfMapArchitecture>(i)) == cpus[i]);
  const std::vector<std::string> abis{"Unknown", "Default", "Armel", "3"};
  for (std::uint32_t i = 0; i < abis.size(); ++i) CHECK(to_string(static_cast<PerfMapAbi>(i)) == abis[i]);
}

TEST_CASE("Values of the header that are new are kept as numbers", "[r2rmap]") {
  const R2rPerfMap map = read("FFFFFFFD 00 99\nFFFFFFFC 00 6\nFFFFFFFB 00 2\n");
  CHECK(to_string(map.header.os.value()) == "99");
  CHECK(map.header.architecture == PerfMapArchitecture::loongarch64);
  CHECK(map.header.abi == PerfMapAbi::armel);
  CHECK_FALSE(map.header.signature);
  CHECK_FALSE(map.header.version);
  CHECK(map.malformed.total() == 0);
}

TEST_CASE("Lengths of more than 16 bits, lower case, 0x, CRLF, a byte-order mark", "[r2rmap]") {
  const R2rPerfMap map = read("\xef\xbb\xbf"
                              "FFFFFFFF 00 00112233445566778899AABBCCDDEEFF\r\n"
                              "0x00001000 1F004 System.Int32 A::B(System.Int32, System.String)\r\n"
                              "00aabbc0 0a A::c d()\r\n");
  CHECK(map.malformed.total() == 0);
  CHECK(whole(*map.symbols, 0x1000, 0x1f004) == "System.Int32 A::B(System.Int32, System.String)");
  CHECK(whole(*map.symbols, 0xaabbc0, 10) == "A::c d()");
  CHECK(map.symbols->identity() == "00112233445566778899AABBCCDDEEFF");
}

TEST_CASE("A method may have several entries; the order of lines says nothing", "[r2rmap]") {
  const R2rPerfMap map = read(header + "00009000 40 A::M()\n00001000 20 A::M()\n00005000 01 A::N()\n");
  CHECK(map.symbols->size() == 3);
  CHECK(whole(*map.symbols, 0x9000, 0x40) == "A::M()");
  CHECK(whole(*map.symbols, 0x1000, 0x20) == "A::M()");
  CHECK(map.symbols->find(0x9010)->function_start == 0x9000);
}

TEST_CASE("Header records stand anywhere, unknown ones are passed over", "[r2rmap]") {
  const R2rPerfMap map = read("00001000 20 A::M()\nFFFFFFFA 00 something new\nFFFFFFF0 00 \n" + header);
  CHECK(map.records == 1);
  CHECK(map.malformed.total() == 0);
  CHECK(digits_of(map.header.signature.value()) == "734D0A1B2C3D4E5F60718293A4B58097");
  CHECK(map.symbols->identity() == "734D0A1B2C3D4E5F60718293A4B58097");
}

TEST_CASE("Each class of malformed lines is counted, and the rest is used", "[r2rmap]") {
  struct Case {
    std::string line;
    R2rPerfMapFault what;
  };
  const Case cases[] = {
      {"xyz 10 name", R2rPerfMap::bad_address},
      {"", R2rPerfMap::bad_address},
      {" 10 name", R2rPerfMap::bad_address},
      {"0x 10 name", R2rPerfMap::bad_address},
      {"-1 10 name", R2rPerfMap::bad_address},
      {"100000000 10 name", R2rPerfMap::large_address},
      {"11111111111111111111 10 name", R2rPerfMap::large_address},
      {"00002000", R2rPerfMap::no_length},
      {"00002000 ", R2rPerfMap::no_length},
      {"00002000 zz name", R2rPerfMap::bad_length},
      {"00002000  10 name", R2rPerfMap::bad_length},
      {"00002000 100000000 name", R2rPerfMap::large_length},
      {"00002000 10", R2rPerfMap::no_name},
      {"00002000 10 ", R2rPerfMap::no_name},
      {"00002000 00 name", R2rPerfMap::no_code},
      {"FFFFFFE0 21 name", R2rPerfMap::past_end},
      {"FFFFFFFF 00 12345", R2rPerfMap::bad_header},
      {"FFFFFFFF 00 734D0A1B2C3D4E5F60718293A4B5809G", R2rPerfMap::bad_header},
      {"FFFFFFFE 00 ", R2rPerfMap::bad_header},
      {"FFFFFFFD 00 4294967296", R2rPerfMap::bad_header},
      {"FFFFFFFC 00 x64", R2rPerfMap::bad_header},
      {"FFFFFFFB 00 -1", R2rPerfMap::bad_header},
      {"FFFFFFFF 00 00000000000000000000000000000000", R2rPerfMap::repeated_header},
      {"FFFFFFFD 00 1", R2rPerfMap::repeated_header},
  };
  for (const Case& each : cases) {
    INFO(each.line);
    const R2rPerfMap map =
        read(header + "00001000 20 A::M()\n" + each.line + "\n" + each.line + "\n00003000 08 A::N()\n");
    REQUIRE(map.malformed.classes().size() == 1);
    CHECK(map.malformed.classes()[0].what == to_string(each.what));
    CHECK(map.malformed.classes()[0].count == 2);
    CHECK(map.malformed.classes()[0].first == 7);
    CHECK(map.symbols->size() == 2);
    CHECK(whole(*map.symbols, 0x1000, 0x20) == "A::M()");
    CHECK(whole(*map.symbols, 0x3000, 8) == "A::N()");
    CHECK(digits_of(map.header.signature.value()) == "734D0A1B2C3D4E5F60718293A4B58097");
    CHECK(map.header.os == PerfMapOs::linux_);
  }
  // Up to the very end of an image is no fault.
  CHECK(whole(*read("FFFFFFE0 20 name\n").symbols, 0xffff'ffe0, 0x20) == "name");
}

TEST_CASE("A last line without an end is used and counted", "[r2rmap]") {
  const R2rPerfMap map = read(header + "00001000 20 A::M(System.Str");
  CHECK(map.malformed.count_of(R2rPerfMap::no_line_end) == 1);
  CHECK(map.malformed.classes()[0].first == 6);
  CHECK(whole(*map.symbols, 0x1000, 0x20) == "A::M(System.Str");
}

TEST_CASE("An empty map is a map of nothing", "[r2rmap]") {
  CHECK(read("").symbols->empty());
  CHECK(read(header).symbols->empty());
  CHECK(read(header).records == 0);
}

TEST_CASE("Other forms are refused by name", "[r2rmap]") {
  CHECK(refused("FFFFFFFF 00 8c99f4b0-b087-c74f-a221-97b7198a03cf\nFFFFFFFE 00 Linux\nFFFFFFFD 00 "
                "X64\nFFFFFFFC 00 1\n") == "unsupported_contract: R2R perf map x.ni.r2rmap: its header is "
                                           "that of the form before version 1 (the second "
                                           "record says \"Linux\" where version 1 has a number)");
  CHECK(refused("FFFFFFFE 00 2\n") ==
        "unsupported_contract: R2R perf map x.ni.r2rmap: version 2 of the format is not known; known is 1");
  CHECK(refused("FFFFFFFE 00 1\n") == "accepted");
}

TEST_CASE("The signature may come behind the methods", "[r2rmap]") {
  const R2rPerfMap map = read("00001000 10 f\n00001010 10 g\n" + header);
  CHECK(map.symbols->identity() == "734D0A1B2C3D4E5F60718293A4B58097");
  CHECK(map.symbols->size() == 2);
  CHECK(at(*map.symbols, 0x1010) == "g");
  CHECK(read("00001000 10 f\n").symbols->identity().empty());
}
