// .sym files: a file that was written is read back unchanged; a damaged one is refused or gives no answer.
#include "tests/memory/temporary_directory.h"
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

std::shared_ptr<const SymbolTable> sample(bool wide) {
  SymbolTableBuilder builder(SymbolSpace::image, "R2R perf map x.ni.r2rmap", "00FF");
  builder.add(0x1000, 0x20, "System.Void X::One()", "/src/X.cs", 10);
  builder.add_line(0x1010, 0x10, "/src/X.cs", 11);
  builder.add(0x1030, 0x08, "X::Two()");
  builder.add(wide ? 0x9'0000'0000 : 0x2000, 0x100, "X::Three()", "/src/Y.cs");
  return builder.build();
}

std::vector<std::byte> copy_of(const SymbolTable& table) {
  return {table.bytes().begin(), table.bytes().end()};
}

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

std::string refused(std::vector<std::byte> bytes) {
  const auto fault = fault_of([&] { SymbolTable::of_bytes(std::move(bytes), "x.sym"); });
  if (!fault) return "accepted";
  return std::string(to_string(fault->kind())) + ": " + fault->what();
}

} // namespace

TEST_CASE("A saved table comes back as it was", "[sym]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("x.sym");
  for (const bool wide : {false, true}) {
    const auto table = sample(wide);
    table->save(path);
    const auto back = SymbolTable::open(path);
    CHECK(std::ranges::equal(back->bytes(), table->bytes()));
    CHECK(back->address_size() == (wide ? 8 : 4));
    CHECK(back->space() == SymbolSpace::image);
    CHECK(back->made_from() == "R2R perf map x.ni.r2rmap");
    CHECK(back->identity() == "00FF");
    CHECK(back->size() == 4);
    CHECK(whole(*back, 0x1000, 0x10) == "System.Void X::One() /src/X.cs:10");
    CHECK(whole(*back, 0x1010, 0x10) == "System.Void X::One() /src/X.cs:11");
    CHECK(back->find(0x1010)->function_start == 0x1000);
    CHECK(at(*back, 0x1020) == "-");
    CHECK(whole(*back, wide ? 0x9'0000'0000 : 0x2000, 0x100) == "X::Three() /src/Y.cs:0");
    std::vector<std::string> names;
    for (const symbols::Symbol& symbol : *back) names.emplace_back(symbol.function);
    CHECK(names ==
          std::vector<std::string>{"System.Void X::One()", "System.Void X::One()", "X::Two()", "X::Three()"});
  }
}

TEST_CASE("The file is the same on every host", "[sym]") {
  SymbolTableBuilder builder(SymbolSpace::process, "t");
  builder.add(0x7f00'0000'1000, 0x203, "f", "g", 0x405);
  const auto table = builder.build();
  std::string hex;
  for (const std::byte each : table->bytes()) hex += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  const auto zeros = [](std::size_t bytes) { return std::string(2 * bytes, '0'); };
  std::string expected = "434c522e53594d0a"; // magic
  expected += "01000000040000"
              "00";                               // version, bytes of an address, process
  expected += "00100000007f0000";                 // base
  expected += "80000000000000000100000000000000"; // entries
  expected += "c0000000000000000200000000000000"; // directory
  expected += "c8000000000000000700000000000000"; // strings
  expected += "00000000010000000000000000000000"; // shift, made from, identity
  expected += "cf00000000000000" + zeros(32);     // size of the file
  expected += "00000000030200000000000003000000"
              "0500000005040000"
              "01000100" +
              zeros(36);          // the entry
  expected += "0000000001000000"; // directory
  expected += "00"
              "7400"
              "6600"
              "6700"; // strings
  CHECK(hex == expected);
}

TEST_CASE("Saving replaces a file that is mapped, and leaves nothing behind when it fails", "[sym]") {
  const TemporaryDirectory folder;
  const std::string path = folder.path("x.sym");
  sample(true)->save(path);
  const auto before = SymbolTable::open(path);
  SymbolTableBuilder(SymbolSpace::process).build()->save(path);
  CHECK(whole(*before, 0x1030, 8) == "X::Two()");
  CHECK(SymbolTable::open(path)->empty());
  const std::string nowhere = folder.path("no/such/folder.sym");
  const auto fault = fault_of([&] { before->save(nowhere); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::io);
  CHECK(std::string(fault->what()) == "cannot write " + nowhere + ": No such file or directory");
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) files += each.exists() ? 1 : 0;
  CHECK(files == 1);
}

TEST_CASE("Damaged headers are refused with what is wrong", "[sym]") {
  const std::vector<std::byte> good = copy_of(*sample(false));
  const auto with = [&](std::size_t at, std::uint64_t value, unsigned size) {
    std::vector<std::byte> bytes = good;
    put(bytes, at, value, size);
    return refused(std::move(bytes));
  };
  CHECK(refused(good) == "accepted");
  CHECK(refused({}) == "corrupt: x.sym: it is no .sym file");
  CHECK(with(0, 'X', 1) == "corrupt: x.sym: it is no .sym file");
  CHECK(with(8, 2, 4) == "unsupported_contract: x.sym: version 2 of the .sym format is not known");
  CHECK(with(12, 5, 1) == "corrupt: x.sym: an address of 5 bytes");
  CHECK(with(13, 2, 1) == "corrupt: x.sym: addresses of kind 2");
  CHECK_THAT(with(24, 0, 8), Catch::Contains("its entries (4 of 28 bytes at 0x0) lie outside"));
  CHECK_THAT(with(24, ~std::uint64_t{0}, 8), Catch::Contains("its entries"));
  CHECK_THAT(with(32, 1000, 8), Catch::Contains("its entries (1000 of 28 bytes"));
  CHECK(with(32, max_symbol_entries + 1, 8) == "corrupt: x.sym: 134217729 entries");
  CHECK_THAT(with(40, good.size(), 8), Catch::Contains("its directory rows"));
  CHECK_THAT(with(48, ~std::uint64_t{0} / 4, 8), Catch::Contains("its directory rows"));
  CHECK(with(48, 0, 8) == "corrupt: x.sym: its directory makes no sense");
  CHECK(with(72, 64, 4) == "corrupt: x.sym: its directory makes no sense");
  CHECK_THAT(with(56, good.size() + 1, 8), Catch::Contains("its strings"));
  CHECK_THAT(with(64, good.size(), 8), Catch::Contains("its strings"));
  CHECK(with(64, 0, 8) == "corrupt: x.sym: strings of 0 bytes");
  CHECK(with(good.size() - 1, 'x', 1) == "corrupt: x.sym: its strings do not begin and end with a NUL");
  CHECK(with(76, good.size(), 4) == "corrupt: x.sym: what it was made from lies outside its strings");
  CHECK(with(80, 0xffff'ffff, 4) == "corrupt: x.sym: what it was made from lies outside its strings");
}

TEST_CASE("A file that lost its end is refused, and one that grew", "[sym]") {
  const std::vector<std::byte> good = copy_of(*sample(true));
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string why = refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    if (!why.starts_with("corrupt: x.sym: it")) FAIL("cut at " << size << ": " << why);
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  CHECK(refused(longer) ==
        fmt::format("corrupt: x.sym: it has {} bytes and was written with {}", longer.size(), good.size()));
}

TEST_CASE("Damaged entries are errors when they are used", "[sym]") {
  const auto table = sample(false);
  const std::vector<std::byte> good = copy_of(*table);
  const auto ask = [&](std::size_t at, std::uint64_t value, std::uint64_t address) -> std::string {
    std::vector<std::byte> bytes = good;
    put(bytes, at, value, 4);
    const auto table_of_it = SymbolTable::of_bytes(std::move(bytes), "x.sym");
    try {
      return test::at(*table_of_it, address);
    } catch (const Error& fault) {
      return fault.what();
    }
  };
  // Entry 2 is X::Two().
  constexpr std::size_t entry = symbol_file_header_size + 2 * 28;
  const std::string damaged =
      "x.sym: entry 2 makes no sense: its bytes lie outside all addresses, or a name outside "
      "the strings";
  CHECK(ask(entry + 12, 0xffff'ffff, 0x1030) == damaged); // function
  CHECK(ask(entry + 16, 0x7000, 0x1030) == damaged);      // file
  CHECK(ask(entry + 24, 0x7000, 0x1030) == damaged);      // length of function
  CHECK(ask(entry + 24, 0x7000'0000, 0x1030) == damaged); // length of file
  CHECK(ask(entry + 8, 0x7000'0000, 0x1030) == damaged);  // distance from the start
  CHECK(ask(entry + 12, 0xffff'ffff, 0x1000) == "System.Void X::One() /src/X.cs:10");
  CHECK(ask(entry, 0x1040, 0x1030) == "-");
  CHECK(ask(entry + 4, 0, 0x1030) == "-");
  // A row of the directory.
  const std::uint64_t directory = symbol_file_header_size + 128; // 4 entries, padded to 64 bytes
  CHECK(ask(directory, 0xffff'ffff, 0x10) == "x.sym: row 0 of its directory makes no sense");
}

TEST_CASE("Any byte may be wrong", "[sym]") {
  std::mt19937 random(3);
  for (const bool wide : {false, true}) {
    const auto table = sample(wide);
    const std::vector<std::byte> good = copy_of(*table);
    std::size_t answers = 0, refusals = 0;
    for (std::size_t at = 0; at < good.size(); ++at)
      for (int round = 0; round < 8; ++round) {
        std::vector<std::byte> bytes = good;
        bytes[at] ^= static_cast<std::byte>(1u << round);
        try {
          const auto damaged = SymbolTable::of_bytes(std::move(bytes), "x.sym");
          for (const std::uint64_t address : {0x0u, 0x1000u, 0x1018u, 0x1034u, 0x2040u, 0xffff'ffffu}) try {
              answers += damaged->find(address) ? 1 : 0;
            } catch (const Error&) {
              ++refusals;
            }
          for (std::size_t i = 0; i < damaged->size() && i < 10; ++i) try {
              answers += (*damaged)[i].function.size() < 100 ? 1 : 0;
            } catch (const Error&) {
              ++refusals;
            }
        } catch (const Error&) {
          ++refusals;
        }
      }
    CHECK(answers > 0);
    CHECK(refusals > 0);
  }
}
