// Maps must equal those of the tools byte by byte, and the readers must read them back.
#include "core/symbols/map_writers.h"
#include "core/symbols/perf_map.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <sstream>

using namespace clr;
using namespace clr::test;

namespace {

std::string perf_map(const std::vector<symbols::MapRow>& rows, std::size_t& lines) {
  std::string text;
  lines = write_perf_map([&](std::string_view piece) { text += piece; }, rows);
  return text;
}

} // namespace

TEST_CASE("A perf map as the runtime writes it", "[writers]") {
  std::size_t lines = 0;
  CHECK(
      perf_map({{0x7ff996cc0020, 0x10a,
                 "void [System.Private.CoreLib] System.AppContext::Setup(char**,char**,int32)[QuickJitted]"},
                {0xb6f1'2340, 1, "stub ReportStubBlock<Unknown>"},
                {0x1000, 0, "empty"},
                {0x1000, 1, ""},
                {~0ull - 5, 5, "two\nlines\r\t"}},
               lines) == "0x7ff996cc0020 10a void [System.Private.CoreLib] "
                         "System.AppContext::Setup(char**,char**,int32)[QuickJitted]\n"
                         "0xb6f12340 1 stub ReportStubBlock<Unknown>\n"
                         "0xfffffffffffffffa 5 two?lines??\n");
  CHECK(lines == 3);
}

TEST_CASE("No name of a perf map commands a terminal", "[writers]") {
  std::size_t lines = 0;
  // ESC, a C1 control and marks of direction as characters; bytes that are no text; a name in other letters.
  CHECK(perf_map({{0x1000, 1,
                   "a\x1b[2Jb\xc2\x9b"
                   "2Jc\xe2\x80\xae"
                   "d\xe2\x80\xa8"},
                  {0x2000, 1, "\xff\xe2\x80"},
                  {0x3000, 1, "\xe6\xbc\xa2\xc3\xa9"}},
                 lines) == "0x1000 1 a?[2Jb?2Jc?d?\n"
                           "0x2000 1 ???\n"
                           "0x3000 1 \xe6\xbc\xa2\xc3\xa9\n");
}

TEST_CASE("The compiler's own maps come out as they went in", "[writers]") {
  for (const char* file : {"metadata/data/names-x64.ni.r2rmap", "metadata/data/names-arm.ni.r2rmap",
                           "metadata/data/composite.r2r.ni.r2rmap", "execution/data/cold-x64.ni.r2rmap"}) {
    const std::string text = read_text(std::string(CLR_TEST_DATA) + "/" + file);
    const R2rPerfMap map = read_r2r_perf_map(as_bytes_of(text), file);
    std::vector<symbols::MapRow> rows;
    for (const symbols::Symbol& symbol : *map.symbols)
      rows.push_back({symbol.address, symbol.size, std::string(symbol.function)});
    std::string written;
    CHECK(write_r2r_perf_map([&](std::string_view piece) { written += piece; }, map.header, rows) ==
          rows.size());
    CHECK(written == text);
  }
}

TEST_CASE("Lengths have two digits at least, and any number at most", "[writers]") {
  std::string text;
  const symbols::MapRow rows[] = {
      {0x10, 1, "a"}, {0xabcdef, 0x1f004, "b\xc3\xb6"}, {0x20, 0, "none"}, {0xffff'ff00, 0xf0, "end"}};
  CHECK(write_r2r_perf_map([&](std::string_view piece) { text += piece; }, {.os = PerfMapOs::haiku}, rows) ==
        3);
  CHECK(text == "FFFFFFFE 00 1\nFFFFFFFD 00 7\n00000010 01 a\n00ABCDEF 1F004 b\xc3\xb6\nFFFFFF00 F0 end\n");
}

TEST_CASE("Rows that no R2R perf map can hold are refused before anything is written", "[writers]") {
  for (const symbols::MapRow& bad :
       {symbols::MapRow{0xffff'fff0, 1, "token"}, symbols::MapRow{0x1'0000'0000, 1, "far"},
        symbols::MapRow{0xffff'ff00, 0xf1, "long"}, symbols::MapRow{8, ~0ull, "huge"}}) {
    std::size_t pieces = 0;
    const symbols::MapRow rows[] = {{0x10, 1, "good"}, bad};
    const auto fault = fault_of([&] { write_r2r_perf_map([&](std::string_view) { ++pieces; }, {}, rows); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::invalid_argument);
    CHECK_THAT(fault->what(), Catch::Contains(bad.name + " at RVA 0x"));
    CHECK(pieces == 0);
  }
}

TEST_CASE("Large maps go out in pieces, and come back", "[writers]") {
  std::vector<symbols::MapRow> rows;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    rows.push_back(
        {0x7f00'0000'0000 + i * 32, 16 + i % 16, "N::M" + std::to_string(i) + "(int32)[QuickJitted]"});
  std::string text;
  std::size_t pieces = 0, largest = 0;
  write_perf_map(
      [&](std::string_view piece) {
        text += piece;
        ++pieces;
        largest = std::max(largest, piece.size());
      },
      rows);
  CHECK(pieces > 5);
  CHECK(largest < 70'000);
  const PerfMap map = read_perf_map(as_bytes_of(text), "x");
  CHECK(map.malformed.total() == 0);
  CHECK(map.symbols->size() == rows.size());
  for (const symbols::MapRow& row : rows)
    if (whole(*map.symbols, row.start, row.size) != row.name) FAIL(row.name);
}

TEST_CASE("What a sink throws ends the writing", "[writers]") {
  const symbols::MapRow rows[] = {{0x10, 1, "a"}};
  CHECK_THROWS_AS(write_perf_map([](std::string_view) { throw Error(ErrorKind::io, "full"); }, rows), Error);
}
