// jitdump files in both byte orders: every kind of record, files that end within a record, and wrong sizes.
#include "core/symbols/jit_dump.h"
#include "tests/symbols/colliding_keys.h"
#include "tests/symbols/jit_dump_builder.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

JitDump read(const JitDumpBuilder& builder) {
  return read_jit_dump(builder.bytes(), "jit-4242.dump");
}

constexpr std::uint64_t code = 0x7f12'0000'1000;

} // namespace

TEST_CASE("Code with its name, in both byte orders", "[jitdump]") {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    JitDumpBuilder builder(order);
    builder.load(code, 0x20, 1, "void [a] A::M()[QuickJitted]", 0x20);
    builder.unwinding_info(13);
    builder.load(code + 0x40, 0x10, 2, "A::N()", 0x10);
    // A block of stubs without its bytes.
    builder.load(code + 0x10000, 0x10000, 3, "stub ReportStubBlock<Unknown>", 0);
    builder.load(code + 0x60, 1, 4, "A::O()", 1);
    const JitDump dump = read(builder);
    CHECK(dump.byte_order == order);
    CHECK(dump.process == 4242);
    CHECK(dump.elf_machine == 62);
    CHECK(dump.records == 5);
    CHECK(dump.malformed.total() == 0);
    CHECK(dump.stopped.empty());
    CHECK_FALSE(dump.closed);
    CHECK(dump.symbols->identity() == "4242");
    CHECK(dump.symbols->made_from() == "jitdump jit-4242.dump");
    CHECK(dump.symbols->space() == SymbolSpace::process);
    CHECK(whole(*dump.symbols, code, 0x20) == "void [a] A::M()[QuickJitted]");
    CHECK(at(*dump.symbols, code + 0x20) == "-");
    CHECK(whole(*dump.symbols, code + 0x40, 0x10) == "A::N()");
    CHECK(whole(*dump.symbols, code + 0x10000, 0x10000) == "stub ReportStubBlock<Unknown>");
    CHECK(at(*dump.symbols, code + 0x60) == "A::O()");
  }
}

TEST_CASE("Lines of the debug information that stands before the code", "[jitdump]") {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    JitDumpBuilder builder(order);
    builder.debug_info(code, {{code + 8, 10, "/src/A.cs"},
                              {code + 0x10, 11, "\xff"},
                              {code + 0x18, 5, "/src/B.cs"},
                              {code + 0x50, 99, "/src/B.cs"}});
    builder.load(code, 0x20, 1, "A::M()", 0x20);
    builder.load(code + 0x20, 0x20, 2, "A::N()", 0x20);
    const JitDump dump = read(builder);
    CHECK(dump.malformed.total() == 0);
    CHECK(whole(*dump.symbols, code, 0x10) == "A::M() /src/A.cs:10");
    CHECK(whole(*dump.symbols, code + 0x10, 8) == "A::M() /src/A.cs:11");
    CHECK(whole(*dump.symbols, code + 0x18, 8) == "A::M() /src/B.cs:5");
    CHECK(whole(*dump.symbols, code + 0x20, 0x20) == "A::N()");
    CHECK(dump.symbols->find(code + 0x1f)->function_start == code);
  }
}

TEST_CASE("Lines in any order; those of bytes that are not the code's are left out", "[jitdump]") {
  JitDumpBuilder builder(ByteOrder::little);
  builder.debug_info(
      code,
      {{code + 0x10, 3, "a"}, {code, 1, "a"}, {code - 8, 9, "b"}, {code + 8, 2, "a"}, {code + 8, 4, "a"}});
  builder.load(code, 0x20, 1, "A::M()", 0);
  const JitDump dump = read(builder);
  CHECK(whole(*dump.symbols, code, 8) == "A::M() a:1");
  CHECK(whole(*dump.symbols, code + 8, 8) == "A::M() a:4");
  CHECK(whole(*dump.symbols, code + 0x10, 0x10) == "A::M() a:3");
  CHECK(at(*dump.symbols, code - 8) == "-");
}

TEST_CASE("Code that takes another's place takes its lines away", "[jitdump]") {
  JitDumpBuilder builder(ByteOrder::little);
  builder.debug_info(code, {{code, 1, "old.cs"}});
  builder.load(code, 0x20, 1, "old", 0x20);
  builder.load(code, 0x10, 2, "new", 0x10);
  const JitDump dump = read(builder);
  CHECK(whole(*dump.symbols, code, 0x10) == "new");
  CHECK(whole(*dump.symbols, code + 0x10, 0x10) == "old old.cs:1");
}

TEST_CASE("Moved code is where it was and where it went, lines and all", "[jitdump]") {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    JitDumpBuilder builder(order);
    builder.debug_info(code, {{code + 0x10, 7, "a.cs"}});
    builder.load(code, 0x20, 1, "A::M()", 0x20);
    builder.move(code, code + 0x1000, 0x20, 1);
    builder.move(code, code + 0x2000, 0x20, 99);
    builder.load(code, 8, 2, "A::N()", 8);
    const JitDump dump = read(builder);
    CHECK(whole(*dump.symbols, code + 0x1000, 0x20) == "A::M() a.cs:7");
    CHECK(whole(*dump.symbols, code, 8) == "A::N()");
    CHECK(whole(*dump.symbols, code + 8, 0x18) == "A::M() a.cs:7");
    CHECK(at(*dump.symbols, code + 0x2000) == "-");
    CHECK(dump.malformed.total() == 1);
    CHECK(dump.malformed.count_of(JitDump::unknown_code) == 1);
    CHECK(dump.malformed.classes()[0].first == 4);
  }
}

TEST_CASE("Nothing behind the record that closes is read", "[jitdump]") {
  JitDumpBuilder builder(ByteOrder::little);
  builder.load(code, 0x20, 1, "A::M()", 0x20);
  builder.close();
  builder.load(code, 0x20, 2, "garbage", 0x20);
  const JitDump dump = read(builder);
  CHECK(dump.closed);
  CHECK(dump.records == 2);
  CHECK(at(*dump.symbols, code) == "A::M()");
}

TEST_CASE("A file that ends within a record is used up to there", "[jitdump]") {
  JitDumpBuilder builder(ByteOrder::big);
  builder.load(code, 0x20, 1, "A::M()", 0x20);
  const std::size_t whole_records = builder.bytes().size();
  builder.load(code + 0x20, 0x20, 2, "A::N()", 0x20);
  for (std::size_t size = whole_records; size <= builder.bytes().size(); ++size) {
    const JitDump dump = read_jit_dump(std::span(builder.bytes()).first(size), "x");
    CHECK(at(*dump.symbols, code) == "A::M()");
    if (size == builder.bytes().size()) {
      CHECK(at(*dump.symbols, code + 0x20) == "A::N()");
      CHECK(dump.stopped.empty());
    } else {
      CHECK(at(*dump.symbols, code + 0x20) == "-");
      CHECK(dump.stopped == (size == whole_records
                                 ? ""
                                 : fmt::format("the file ends within record 2, at byte {}", whole_records)));
    }
  }
}

TEST_CASE("A record without a size ends the reading", "[jitdump]") {
  for (const std::uint32_t claimed : {0u, 15u}) {
    JitDumpBuilder builder(ByteOrder::little);
    builder.load(code, 0x20, 1, "A::M()", 0x20);
    const std::size_t where = builder.bytes().size();
    builder.record(0, builder.body(), claimed);
    builder.load(code + 0x20, 0x20, 2, "A::N()", 0x20);
    const JitDump dump = read(builder);
    CHECK(at(*dump.symbols, code) == "A::M()");
    CHECK(dump.symbols->size() == 1);
    CHECK(dump.stopped ==
          fmt::format("record 2, at byte {}, claims to have {} bytes: what follows cannot be read", where,
                      claimed));
  }
}

TEST_CASE("Each class of malformed records is counted, and the rest is used", "[jitdump]") {
  const auto check = [](JitDumpFault what, const std::function<void(JitDumpBuilder&)>& write) {
    INFO(to_string(what));
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
      JitDumpBuilder builder(order);
      builder.load(code, 0x20, 1, "A::M()", 0x20);
      write(builder);
      write(builder);
      builder.load(code + 0x20, 0x20, 2, "A::N()", 0x20);
      const JitDump dump = read(builder);
      REQUIRE(dump.malformed.classes().size() == 1);
      CHECK(dump.malformed.classes()[0].what == to_string(what));
      CHECK(dump.malformed.classes()[0].count == 2);
      CHECK(dump.malformed.classes()[0].first == 2);
      CHECK(dump.stopped.empty());
      CHECK(dump.symbols->size() == 2);
      CHECK(whole(*dump.symbols, code, 0x20) == "A::M()");
      CHECK(whole(*dump.symbols, code + 0x20, 0x20) == "A::N()");
    }
  };
  const auto short_of = [](std::uint32_t kind, std::size_t size) {
    return [=](JitDumpBuilder& builder) {
      TargetBytes body = builder.body();
      body.pad_to(size - 1);
      builder.record(kind, body);
    };
  };
  check(JitDump::short_record, short_of(0, 40));
  check(JitDump::short_record, short_of(1, 48));
  check(JitDump::short_record, short_of(2, 16));
  check(JitDump::unknown_kind, short_of(5, 8));
  check(JitDump::endless_name, [](JitDumpBuilder& builder) {
    TargetBytes body = builder.body();
    body.pad_to(40);
    body.u8('x');
    builder.record(0, body);
  });
  check(JitDump::no_code, [](JitDumpBuilder& builder) { builder.load(code, 0, 3, "x", 0); });
  check(JitDump::large_size, [](JitDumpBuilder& builder) { builder.load(code, 1ull << 32, 3, "x", 0); });
  check(JitDump::past_end, [](JitDumpBuilder& builder) { builder.load(~0ull, 2, 3, "x", 0); });
  check(JitDump::no_code, [](JitDumpBuilder& builder) { builder.move(code, code + 64, 0, 1); });
  check(JitDump::past_end, [](JitDumpBuilder& builder) { builder.move(code, ~0ull, 2, 1); });
  check(JitDump::lying_count, [](JitDumpBuilder& builder) {
    builder.debug_info(code, {{code, 1, "a"}}, ~0ull >> 1);
  });
  check(JitDump::lying_count, [](JitDumpBuilder& builder) { builder.debug_info(code, {{code, 1, "a"}}, 2); });
  // Two lines would fit if the first had a shorter name.
  check(JitDump::short_record, [](JitDumpBuilder& builder) {
    builder.debug_info(code, {{code, 1, "a name of some length"}}, 2);
  });
  check(JitDump::endless_name, [](JitDumpBuilder& builder) {
    TargetBytes body = builder.body();
    body.word(code);
    body.word(1);
    body.pad_to(32);
    body.u8('x');
    builder.record(2, body);
  });
}

TEST_CASE("Lines whose code never comes are counted", "[jitdump]") {
  JitDumpBuilder builder(ByteOrder::little);
  builder.debug_info(code, {{code, 1, "a"}});
  builder.load(code + 0x20, 0x20, 2, "A::N()", 0x20);
  CHECK(read(builder).malformed.count_of(JitDump::lost_lines) == 1);
}

TEST_CASE("Many moves of many lines end", "[jitdump]") {
  JitDumpBuilder builder(ByteOrder::little);
  std::vector<JitDumpBuilder::Line> lines(100'000, {code, 1, ""});
  builder.debug_info(code, lines);
  builder.load(code, 0x20, 1, "A::M()", 0);
  for (std::uint64_t i = 1; i < 1000; ++i) builder.move(code, code + 0x100 * i, 0x20, 1);
  CHECK(read(builder).malformed.count_of(JitDump::many_moves) == 999 - 41);
}

TEST_CASE("Numbers and places of code that share a bucket of a table are no burden", "[jitdump]") {
  constexpr std::size_t count = 80'000;
  const std::uint64_t step = colliding_step(count), far = 1ull << 48;
  JitDumpBuilder builder(ByteOrder::little);
  for (std::uint64_t i = 1; i <= count; ++i) builder.debug_info(i * step, {{i * step, 7, "a.cs"}});
  for (std::uint64_t i = 1; i <= count; ++i) builder.load(i * step, 0x20, i * step, "A::M()", 0);
  builder.move(5 * step, far, 0x20, 5 * step);
  const JitDump dump = read(builder);
  CHECK(dump.records == 2 * count + 1);
  CHECK(dump.malformed.total() == 0);
  CHECK(dump.symbols->size() == count + 1);
  CHECK(whole(*dump.symbols, far, 0x20) == "A::M() a.cs:7");
}

TEST_CASE("What is no jitdump is refused", "[jitdump]") {
  const auto why = [](std::vector<std::byte> bytes) -> std::string {
    const auto fault = fault_of([&] { read_jit_dump(bytes, "x"); });
    return fault ? std::string(to_string(fault->kind())) + ": " + fault->what() : "accepted";
  };
  const std::vector<std::byte> good = JitDumpBuilder(ByteOrder::little).bytes();
  CHECK(why(good) == "accepted");
  CHECK(why({}) == "corrupt: x: it is no jitdump");
  CHECK(why(bytes_of_text("0x1000 20 A::M()\n")) == "corrupt: x: it is no jitdump");
  for (std::size_t size = 4; size < good.size(); ++size)
    CHECK(why({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}) ==
          "corrupt: x: it ends in its header");
  std::vector<std::byte> other = good;
  other[4] = std::byte{2};
  CHECK(why(other) == "unsupported_contract: x: version 2 of the jitdump format is not known");
  for (const unsigned size : {0u, 39u, 41u}) {
    other = good;
    other[8] = static_cast<std::byte>(size);
    CHECK(why(other) == fmt::format("corrupt: x: its header of {} bytes does not fit", size));
  }
  // A longer header is one of a later writer.
  other.push_back(std::byte{0});
  CHECK(why(other) == "accepted");
}

TEST_CASE("What the runtime wrote into a jitdump", "[jitdump]") {
  const std::string data = std::string(CLR_TEST_DATA) + "/symbols/data/";
  SECTION("whole records") {
    const std::string file = read_text(data + "jit-x64.dump");
    const JitDump dump = read_jit_dump(as_bytes_of(file), "jit-25493.dump");
    CHECK(dump.records == 9);
    CHECK(dump.malformed.total() == 0);
    CHECK(dump.stopped.empty());
    CHECK(dump.process == 25493);
    CHECK(dump.elf_machine == 62);
    CHECK(dump.symbols->size() == 9);
    CHECK(whole(*dump.symbols, 0x7f41e2410000, 0x18) == "stub Allocate<PInvokeImportPrecode>");
    CHECK(whole(*dump.symbols, 0x7f41e17c4a30, 0xb3) ==
          "int32 [System.Private.CoreLib] System.Collections.HashHelpers::GetPrime(int32)[PreJIT]");
    CHECK(whole(*dump.symbols, 0x7f41e4d781b0, 0x18) == "int32 [many] Many.Workload::Gr\xc3\xb6\xc3\x9f"
                                                        "enpr\xc3\xbc"
                                                        "fung(int32)[QuickJitted]");
    CHECK(at(*dump.symbols, 0x7f41e4d781b0 + 0x18) == "-");
  }
  SECTION(".NET 10 ends it when a block of stubs is only reserved") {
    const std::string file = read_text(data + "jit-x64-cut.dump");
    const JitDump dump = read_jit_dump(as_bytes_of(file), "jit-25498.dump");
    CHECK(dump.records == 1);
    CHECK(dump.stopped == "the file ends within record 2, at byte 427");
    CHECK(dump.symbols->size() == 1);
  }
}
