// The table and its builder: which entry holds an address, overlapping entries, and lookups that allocate
// nothing.
#include "tests/symbols/symbol_samples.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

thread_local std::size_t allocations = 0;

} // namespace

// All that the sized and plain delete below may get. Not inlined: the compiler would see malloc and delete,
// and warn.
__attribute__((noinline)) void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
__attribute__((noinline)) void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("An entry holds its first, middle and last byte; gaps hold nothing", "[table]") {
  for (const std::uint64_t base : bases) {
    SymbolTableBuilder builder(SymbolSpace::process, "a test", "42");
    CHECK(builder.add(base + 0x300, 0x10, "third", "c.cs", 7));
    CHECK(builder.add(base + 0x100, 0x20, "first"));
    CHECK(builder.add(base + 0x120, 1, "second", "b.cs"));
    const auto table = builder.build();
    CHECK(table->size() == 3);
    CHECK(table->made_from() == "a test");
    CHECK(table->identity() == "42");
    CHECK(table->space() == SymbolSpace::process);
    CHECK(table->address_size() == 4);
    CHECK(table->base() == (base == 0 ? 0 : base + 0x100));
    CHECK(whole(*table, base + 0x100, 0x20) == "first");
    CHECK(at(*table, base + 0x120) == "second b.cs:0");
    CHECK(whole(*table, base + 0x300, 0x10) == "third c.cs:7");
    for (const std::uint64_t gap : {0x0u, 0xffu, 0x121u, 0x2ffu, 0x310u, 0x1000u})
      CHECK(at(*table, base + gap) == "-");
    CHECK(at(*table, 0) == "-");
    CHECK(at(*table, ~std::uint64_t{0}) == "-");
    const auto symbol = table->find(base + 0x11f);
    REQUIRE(symbol);
    CHECK(symbol->address == base + 0x100);
    CHECK(symbol->size == 0x20);
    CHECK(symbol->function_start == base + 0x100);
  }
}

TEST_CASE("Entries more than 4 GiB apart have addresses of 64 bits", "[table]") {
  for (const std::uint64_t base : bases) {
    SymbolTableBuilder builder(SymbolSpace::process);
    builder.add(base + 0x10, 0x10, "low");
    builder.add(base + 0xf0'0000'0000, 0x10, "high");
    const auto table = builder.build();
    CHECK(table->address_size() == 8);
    CHECK(whole(*table, base + 0x10, 0x10) == "low");
    CHECK(whole(*table, base + 0xf0'0000'0000, 0x10) == "high");
    CHECK(at(*table, base + 0xf0'0000'0010) == "-");
    CHECK(at(*table, base + 0x20) == "-");
    CHECK((*table)[1].address == base + 0xf0'0000'0000);
  }
}

TEST_CASE("A table of nothing holds nothing", "[table]") {
  const auto table = SymbolTableBuilder(SymbolSpace::image).build();
  CHECK(table->empty());
  CHECK(table->space() == SymbolSpace::image);
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}})
    CHECK_FALSE(table->find(address));
  CHECK(table->begin() == table->end());
}

TEST_CASE("Of overlapping functions the last added has the shared bytes", "[table]") {
  for (const std::uint64_t base : bases) {
    SECTION("a later one inside leaves both sides, which remember where their function begins") {
      SymbolTableBuilder builder(SymbolSpace::process);
      builder.add(base + 0x100, 0x100, "old");
      builder.add(base + 0x140, 0x10, "new");
      const auto table = builder.build();
      CHECK(whole(*table, base + 0x100, 0x40) == "old");
      CHECK(whole(*table, base + 0x140, 0x10) == "new");
      CHECK(whole(*table, base + 0x150, 0xb0) == "old");
      CHECK(table->size() == 3);
      CHECK(table->find(base + 0x1ff)->function_start == base + 0x100);
      CHECK(builder.dropped().covered == 0);
    }
    SECTION("an earlier one inside is covered") {
      SymbolTableBuilder builder(SymbolSpace::process);
      builder.add(base + 0x140, 0x10, "old");
      builder.add(base + 0x100, 0x100, "new");
      const auto table = builder.build();
      CHECK(whole(*table, base + 0x100, 0x100) == "new");
      CHECK(table->size() == 1);
      CHECK(builder.dropped().covered == 1);
      CHECK(builder.dropped().total() == 1);
    }
    SECTION("of the same address the last holds") {
      SymbolTableBuilder builder(SymbolSpace::process);
      builder.add(base + 0x100, 0x20, "one");
      builder.add(base + 0x100, 0x30, "two");
      builder.add(base + 0x100, 0x10, "three");
      const auto table = builder.build();
      CHECK(whole(*table, base + 0x100, 0x10) == "three");
      CHECK(whole(*table, base + 0x110, 0x20) == "two");
      CHECK(at(*table, base + 0x130) == "-");
      CHECK(builder.dropped().covered == 1);
    }
  }
}

TEST_CASE("Lines refine the functions that were added before them", "[table]") {
  for (const std::uint64_t base : bases) {
    SymbolTableBuilder builder(SymbolSpace::process);
    builder.add(base + 0x100, 0x40, "F", "F.cs", 1);
    builder.add_line(base + 0x108, 8, "F.cs", 3);
    builder.add_line(base + 0x110, 8, "G.cs", 4);
    builder.add_line(base + 0x200, 8, "nobody.cs", 9);
    const auto table = builder.build();
    CHECK(whole(*table, base + 0x100, 8) == "F F.cs:1");
    CHECK(whole(*table, base + 0x108, 8) == "F F.cs:3");
    CHECK(whole(*table, base + 0x110, 8) == "F G.cs:4");
    CHECK(whole(*table, base + 0x118, 0x28) == "F F.cs:1");
    CHECK(whole(*table, base + 0x200, 8) == " nobody.cs:9");
    CHECK(table->find(base + 0x112)->function_start == base + 0x100);
    CHECK(table->size() == 5);
  }
}

TEST_CASE("Lines outside of functions are one entry each, however many earlier ones they cover", "[table]") {
  SymbolTableBuilder builder(SymbolSpace::process);
  for (std::uint64_t i = 0; i < 100; ++i) builder.add_line(0x100 + i, 1, "old.cs", 3);
  builder.add_line(0x100, 100, "new.cs", 4);
  builder.add_line(0x100 + 100, 1, "new.cs", 4);
  const auto table = builder.build();
  CHECK(table->size() == 2);
  CHECK(whole(*table, 0x100, 100) == " new.cs:4");
  CHECK(table->find(0x120)->size == 100);
}

TEST_CASE("A source that tells late what it is of", "[table]") {
  SymbolTableBuilder builder(SymbolSpace::process, "a test");
  builder.add(0x100, 1, "42");
  builder.identify("42");
  builder.add(0x101, 1, "f");
  const auto table = builder.build();
  CHECK(table->identity() == "42");
  CHECK(table->made_from() == "a test");
  CHECK(at(*table, 0x101) == "f");
}

TEST_CASE("A function that is added later hides the lines of what was there", "[table]") {
  SymbolTableBuilder builder(SymbolSpace::process);
  builder.add(0x100, 0x40, "old");
  builder.add_line(0x100, 0x40, "old.cs", 3);
  builder.add(0x110, 0x10, "new");
  const auto table = builder.build();
  CHECK(whole(*table, 0x100, 0x10) == "old old.cs:3");
  CHECK(whole(*table, 0x110, 0x10) == "new");
  CHECK(whole(*table, 0x120, 0x20) == "old old.cs:3");
}

TEST_CASE("Neighbours that say the same are one entry", "[table]") {
  SymbolTableBuilder builder(SymbolSpace::image);
  builder.add(0x100, 0x40, "F");
  builder.add_line(0x100, 8, "F.cs", 3);
  builder.add_line(0x108, 8, "F.cs", 3);
  builder.add_line(0x110, 0x30, "F.cs", 4);
  builder.add(0x140, 8, "F"); // another function of that name
  const auto table = builder.build();
  CHECK(table->size() == 3);
  CHECK(table->find(0x100)->size == 0x10);
  CHECK(table->find(0x140)->function_start == 0x140);
}

TEST_CASE("What is no entry is counted and not there", "[table]") {
  constexpr std::uint64_t top = ~std::uint64_t{0};
  SymbolTableBuilder builder(SymbolSpace::process);
  CHECK_FALSE(builder.add(0x10, 0, "empty"));
  CHECK_FALSE(builder.add(top - 4, 5, "past the end"));
  CHECK_FALSE(builder.add(0x10, SymbolTableBuilder::max_size + 1, "huge"));
  CHECK_FALSE(builder.add(0x10, 1, ""));
  CHECK_FALSE(builder.add_line(0x10, 1, "", 5));
  CHECK_FALSE(builder.add(0x10, 1, std::string("\0begins so", 10)));
  CHECK_FALSE(builder.add_line(0x10, 1, std::string("\0", 1), 5));
  CHECK(builder.add(top - 4, 4, "last"));
  CHECK(builder.add(0x20, SymbolTableBuilder::max_size, "longest"));
  CHECK(builder.add(0x11, 1, std::string("cut\0here", 8)));
  CHECK(builder.add(0x12, 1, std::string(max_symbol_name + 1, 'x')));
  CHECK(builder.add(0x13, 1, std::string(max_symbol_name, 'y')));
  const auto table = builder.build();
  CHECK(builder.dropped().empty == 1);
  CHECK(builder.dropped().oversize == 2);
  CHECK(builder.dropped().nameless == 4);
  CHECK(builder.dropped().cut == 4);
  CHECK(builder.dropped().total() == 7);
  CHECK(whole(*table, top - 4, 4) == "last");
  CHECK(at(*table, top) == "-");
  CHECK(whole(*table, 0x20, SymbolTableBuilder::max_size) == "longest");
  CHECK(at(*table, 0x11) == "cut");
  CHECK(at(*table, 0x12) == std::string(max_symbol_name, 'x'));
  CHECK(at(*table, 0x13) == std::string(max_symbol_name, 'y'));
}

TEST_CASE("Equal texts are stored once", "[table]") {
  SymbolTableBuilder one(SymbolSpace::process), many(SymbolSpace::process);
  one.add(0, 1, "System.String System.Object::ToString()", "Object.cs", 3);
  for (std::uint64_t i = 0; i < 100; ++i)
    many.add(i * 8, 1, "System.String System.Object::ToString()", "Object.cs", 3);
  const auto small = one.build(), large = many.build();
  const std::size_t entries = 99 * 28, directory = 99 * 4, padding = 64;
  CHECK(large->bytes().size() <= small->bytes().size() + entries + directory + padding);
}

TEST_CASE("A text that many rows share is looked at once", "[table]") {
  // Of a text of 20 MB no more is looked at than a table takes, a byte aside.
  const std::string text(20'000'000, 'x');
  SymbolTableBuilder builder(SymbolSpace::process);
  const SymbolTableBuilder::Name file = builder.name(text), function = builder.name("f");
  CHECK(builder.dropped().cut == 1);
  CHECK(builder.add(0x1000, 0x10'0000, function));
  for (std::uint64_t i = 0; i < 1'000; ++i) CHECK(builder.add_line(0x1000 + i, 1, text, 7));
  for (std::uint64_t i = 1'000; i < 100'000; ++i) builder.add_line(0x1000 + i, 1, file, 7);
  CHECK(builder.dropped().cut == 1'001);
  CHECK_FALSE(builder.add_line(0x1000, 1, SymbolTableBuilder::Name(), 7));
  CHECK_FALSE(builder.add(0x1000, 1, SymbolTableBuilder::Name()));
  CHECK(builder.dropped().nameless == 2);
  const auto table = builder.build();
  CHECK(table->size() == 2);
  CHECK(table->find(0x1000 + 99'999)->file == text.substr(0, max_symbol_name));
  CHECK(table->find(0x1000 + 99'999)->function == "f");
  // A NUL right behind what a table takes.
  SymbolTableBuilder other(SymbolSpace::process);
  other.name(std::string(max_symbol_name, 'y') + '\0');
  CHECK(other.dropped().cut == 1);
  other.name(std::string(max_symbol_name, 'y'));
  CHECK(other.dropped().cut == 1);
}

TEST_CASE("Entries come in the order of their addresses", "[table]") {
  SymbolTableBuilder builder(SymbolSpace::process);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) builder.add(random(), 1 + random() % 100, "f" + std::to_string(i));
  const auto table = builder.build();
  std::uint64_t end = 0;
  std::size_t count = 0;
  for (const symbols::Symbol& symbol : *table) {
    REQUIRE(symbol.address >= end);
    end = symbol.address + symbol.size;
    ++count;
  }
  CHECK(count == table->size());
}

// Against a plain array of bytes that each row paints over.
TEST_CASE("Random rows of functions and lines", "[table]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t base = bases[random() % std::size(bases)];
    // The far part makes addresses of 64 bits.
    const std::uint64_t far = random() % 2 == 0 ? 0 : 0x10'0000'0000;
    constexpr std::size_t length = 200;
    struct Byte {
      std::string function, line;
      std::uint64_t start = 0;
    };
    std::vector<Byte> truth(length);
    SymbolTableBuilder builder(SymbolSpace::process);
    const auto place = [&](std::size_t at) { return base + at + (at >= length / 2 ? far : 0); };
    const auto rows = static_cast<unsigned>(random() % 40);
    for (unsigned i = 0; i < rows; ++i) {
      const std::size_t half = random() % 2 * length / 2;
      const std::size_t begin = half + random() % (length / 2),
                        size = 1 + random() % (half + length / 2 - begin);
      const bool is_line = random() % 3 == 0;
      const std::string name = std::string(1, static_cast<char>('a' + random() % 26));
      if (is_line)
        builder.add_line(place(begin), size, name, i + 1);
      else
        builder.add(place(begin), size, name, "own", i + 1);
      for (std::size_t at = begin; at < begin + size; ++at) {
        truth[at].line = is_line ? name + ":" + std::to_string(i + 1) : "own:" + std::to_string(i + 1);
        if (!is_line) {
          truth[at].function = name;
          truth[at].start = place(begin);
        }
      }
    }
    const auto table = builder.build();
    for (std::size_t at_byte = 0; at_byte < length; ++at_byte) {
      const Byte& byte = truth[at_byte];
      const std::string expected = byte.line.empty() ? "-" : byte.function + " " + byte.line;
      const auto found = at(*table, place(at_byte));
      if (found != expected)
        FAIL("round " << round << " byte " << at_byte << ": " << found << " != " << expected);
      if (!byte.function.empty()) REQUIRE(table->find(place(at_byte))->function_start == byte.start);
    }
  }
}

TEST_CASE("Many addresses at once have the answers of one at a time", "[table]") {
  std::mt19937 random(11);
  for (const std::uint64_t base : bases) {
    SymbolTableBuilder builder(SymbolSpace::process);
    for (int i = 0; i < 500; ++i)
      builder.add(base + 0x100 + random() % 20'000, 1 + random() % 30, "f" + std::to_string(i));
    const auto table = builder.build();
    std::vector<std::uint64_t> addresses;
    for (int i = 0; i < 1000; ++i) addresses.push_back(base + random() % 21'000);
    addresses.insert(addresses.end(), {0, 1, ~std::uint64_t{0}});
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{32},
                                    std::size_t{33}, addresses.size()}) {
      std::vector<std::uint32_t> entries(count, 7);
      table->index_all(std::span(addresses).first(count), entries);
      for (std::size_t i = 0; i < count; ++i) {
        const auto one = table->index_of(addresses[i]);
        if (entries[i] != (one ? *one : SymbolTable::no_entry)) FAIL("address " << addresses[i]);
      }
    }
    std::vector<std::uint32_t> few(3);
    CHECK_THROWS_AS(table->index_all(addresses, few), Error);
  }
  std::vector<std::uint32_t> none(2, 7);
  const std::uint64_t two[] = {0, 5};
  SymbolTableBuilder(SymbolSpace::process).build()->index_all(two, none);
  CHECK(none == std::vector<std::uint32_t>(2, SymbolTable::no_entry));
}

TEST_CASE("Asking allocates nothing", "[table]") {
  SymbolTableBuilder builder(SymbolSpace::process);
  for (std::uint64_t i = 0; i < 1000; ++i)
    builder.add(i * 16, 8, "a name that is too long for any small string " + std::to_string(i), "file.cs", 1);
  const auto table = builder.build();
  const std::size_t before = allocations;
  std::size_t found = 0;
  for (std::uint64_t address = 0; address < 17'000; ++address)
    found += table->find(address).has_value() ? 1 : 0;
  for (const symbols::Symbol& symbol : *table) found += symbol.function.size() > 8 ? 1 : 0;
  CHECK(allocations == before);
  CHECK(found == 9000);
}
