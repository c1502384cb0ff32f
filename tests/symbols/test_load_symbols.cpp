// The kind of a file, recognised by its content alone, and files of every kind as a table.
#include "core/symbols/load_symbols.h"
#include "tests/memory/temporary_directory.h"
#include "tests/symbols/jit_dump_builder.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

SymbolFileKind kind_of(std::string_view text) {
  return symbol_file_kind(as_bytes_of(text));
}

const std::string data = std::string(CLR_TEST_DATA) + "/";

} // namespace

TEST_CASE("Kinds are told by content", "[load]") {
  using Kind = SymbolFileKind;
  CHECK(kind_of("CLR.SYM\n....") == Kind::sym);
  CHECK(kind_of("Nettrace\x14") == Kind::nettrace);
  CHECK(kind_of("\x7f"
                "ELF\x02\x01") == Kind::elf);
  CHECK(symbol_file_kind(JitDumpBuilder(ByteOrder::little).bytes()) == Kind::jitdump);
  CHECK(symbol_file_kind(JitDumpBuilder(ByteOrder::big).bytes()) == Kind::jitdump);
  CHECK(kind_of("FFFFFFFF 00 734D0A1B2C3D4E5F60718293A4B58097\nFFFFFFFE 00 1\n") == Kind::r2r_perf_map);
  CHECK(kind_of("\xef\xbb\xbf"
                "FFFFFFFF 00 734D\r\n") == Kind::r2r_perf_map);
  CHECK(kind_of("FFFFFFFF 00 8c99f4b0-b087-c74f-a221-97b7198a03cf\nFFFFFFFE 00 Linux\n") ==
        Kind::r2r_perf_map);
  CHECK(kind_of("000108E0 01 NoNamespace::Method()\n000108F0 01 NoNamespace::.ctor()\n") ==
        Kind::r2r_perf_map);
  CHECK(kind_of("0x7ff996cc0020 10a void [a] A::B()\n") == Kind::perf_map);
  CHECK(kind_of("7ff996cc0020 10a f\n") == Kind::perf_map);
  CHECK(kind_of("b6f12340 1c f\nB6F12360 1C f\n") == Kind::perf_map);
  CHECK(kind_of("0x7ff996cc0020 10a f") == Kind::perf_map);
  // Among the first lines one that the runtime damaged.
  CHECK(kind_of("\xb4g\"\xb0$V 8 int32 [many] Many.W\xc3\xb6()\n0x1000 20 a\n0x2000 20 b\n") ==
        Kind::perf_map);
  CHECK(kind_of("") == Kind::unknown);
  CHECK(kind_of("\n\n\n") == Kind::unknown);
  CHECK(kind_of("hello world\n") == Kind::unknown);
  CHECK(kind_of("a bad day\nwas what it was, all of it\nand so it went\n") == Kind::unknown);
  CHECK(kind_of(std::string_view("MZ\x90\0\x03\0\0\0", 8)) == Kind::unknown);
  CHECK(kind_of(std::string(100'000, 'a')) == Kind::unknown);
}

TEST_CASE("A line that the prefix cuts decides nothing", "[load]") {
  std::string text;
  while (text.size() < 20'000) text += "0x7ff996cc0020 10a void [a] A::B()\n";
  for (std::size_t size = symbol_file_prefix - 40; size < symbol_file_prefix; ++size)
    CHECK(kind_of(std::string_view(text).substr(0, size)) == SymbolFileKind::perf_map);
  CHECK(kind_of(text) == SymbolFileKind::perf_map);
}

TEST_CASE("Every kind is loaded", "[load]") {
  const TemporaryDirectory folder;
  SECTION("R2R perf map") {
    const LoadedSymbols loaded = load_symbols(data + "metadata/data/names-x86.ni.r2rmap");
    CHECK(to_string(loaded.kind) == "R2R perf map");
    CHECK(loaded.symbols->size() == 54);
    CHECK(loaded.note.empty());
  }
  SECTION("perf map") {
    const std::string path =
        folder.write("perf-77.map", bytes_of_text("0x1000 20 A::M()\nbad\n0x2000 0 x\n0x3000 8 y\n"));
    const LoadedSymbols loaded = load_symbols(path);
    CHECK(to_string(loaded.kind) == "perf map");
    CHECK(loaded.symbols->identity() == "77");
    CHECK(loaded.symbols->size() == 2);
    CHECK(loaded.malformed.total() == 2);
  }
  SECTION("jitdump") {
    JitDumpBuilder builder(ByteOrder::big);
    builder.load(0x1000, 0x20, 1, "A::M()", 0x20);
    builder.record(0, builder.body(), 1000);
    const LoadedSymbols loaded = load_symbols(folder.write("whatever", builder.bytes()));
    CHECK(to_string(loaded.kind) == "jitdump");
    CHECK(at(*loaded.symbols, 0x1000) == "A::M()");
    CHECK(loaded.note == "the file ends within record 2, at byte 135");
  }
  SECTION(".sym, of any of them") {
    const LoadedSymbols map = load_symbols(data + "metadata/data/names-x64.ni.r2rmap");
    map.symbols->save(folder.path("names"));
    const LoadedSymbols loaded = load_symbols(folder.path("names"));
    CHECK(to_string(loaded.kind) == ".sym file");
    CHECK(loaded.symbols->identity() == "0EFFE99B0757A064DA7592946DE32C99");
    CHECK(std::ranges::equal(loaded.symbols->bytes(), map.symbols->bytes()));
  }
  SECTION("ELF") {
    const LoadedSymbols loaded = load_symbols("/proc/self/exe");
    CHECK(to_string(loaded.kind) == "ELF file");
    CHECK(loaded.symbols->size() > 100);
  }
}

TEST_CASE("What is no file of symbols is refused", "[load]") {
  const TemporaryDirectory folder;
  const auto why = [&](const std::string& text) {
    const std::string path = folder.write("x", bytes_of_text(text));
    const auto fault = fault_of([&] { load_symbols(path); });
    const std::string what = fault ? fault->what() : "accepted";
    return what.starts_with(path) ? what.substr(path.size()) : what;
  };
  CHECK(why("") == " is no file of symbols: neither .sym, R2R perf map, perf map, jitdump nor ELF file");
  CHECK(why("prose") == " is no file of symbols: neither .sym, R2R perf map, perf map, jitdump nor ELF file");
  CHECK(why("Nettrace....") == " is a trace: its names hold for a time only, which a symbol table has not");
  CHECK(why("CLR.SYM\n") == ": it ends in its header");
  CHECK(why("\x7f"
            "ELF") == " is no ELF file");
  const auto missing = fault_of([&] { load_symbols(folder.path("none")); });
  REQUIRE(missing);
  CHECK(missing->kind() == ErrorKind::io);
}

TEST_CASE("Loading an ELF file can be stopped", "[load]") {
  const auto fault = fault_of([] { load_symbols("/proc/self/exe", [] { return true; }); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::interrupted);
}
