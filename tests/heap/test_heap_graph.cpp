// References of objects, their numbers, and the ways from roots to objects.
#include "core/heap/heap_statistics.h"
#include "core/heap/loader_allocators.h"
#include "core/memory/counting_reader.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>
#include <tuple>

using namespace clr;
using namespace clr::test;

namespace {

using Found = std::vector<std::pair<std::uint64_t, Address>>;

// At most so many, if any number is given.
Found references(HeapRuntime& runtime, Address object, Address type, std::uint64_t size,
                 std::optional<std::size_t> most = {}) {
  const Target target = runtime.target();
  HeapTypes types(target);
  const char* why = nullptr;
  const auto number = types.find(type, why);
  REQUIRE(number);
  ReferenceMaps maps(types);
  CHECK(maps.of(*number).fault.empty());
  Found found;
  const HeapObject described{.address = object, .size = size, .type = *number};
  ReferenceReader reader(maps);
  if (most)
    reader.read(described, [&](std::uint64_t offset, Address value) {
      found.emplace_back(offset, value);
      return found.size() < *most;
    });
  else
    reader.read(described, [&](std::uint64_t offset, Address value) { found.emplace_back(offset, value); });
  return found;
}

} // namespace

TEST_CASE("references are found in runs, in arrays and in arrays of values", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const std::uint64_t word = runtime.word;
    const Address at = runtime.fresh_region();
    // The runtime writes the last run first.
    const Address two_runs =
        runtime.type_with(static_cast<std::uint32_t>(8 * word), {{5 * word, word}, {word, 2 * word}});
    for (unsigned i = 1; i < 8; ++i) runtime.set_word(at + i * word, 0x1000 * i);
    CHECK(references(runtime, at, two_runs, 8 * word) ==
          Found{{word, 0x1000}, {2 * word, 0x2000}, {5 * word, 0x5000}});
    runtime.set_word(at + word, 0); // null
    CHECK(references(runtime, at, two_runs, 8 * word) == Found{{2 * word, 0x2000}, {5 * word, 0x5000}});
    CHECK(references(runtime, at, two_runs, 8 * word, 1) == Found{{2 * word, 0x2000}});

    const Address array = runtime.array_of_references();
    runtime.object(at, array, 3);
    CHECK(references(runtime, at, array, 6 * word) ==
          Found{{2 * word, 0x2000}, {3 * word, 0x3000}, {4 * word, 0x4000}});

    // Elements of five words: a number, a reference, a number, two references.
    const Address values =
        runtime.array_of_values(static_cast<std::uint32_t>(5 * word), word,
                                {{1, static_cast<unsigned>(word)}, {2, static_cast<unsigned>(word)}});
    runtime.object(at, values, 2);
    for (unsigned i = 0; i < 10; ++i) runtime.set_word(at + (2 + i) * word, 0x100 * (i + 1));
    CHECK(references(runtime, at, values, 13 * word) == Found{{3 * word, 0x200},
                                                              {5 * word, 0x400},
                                                              {6 * word, 0x500},
                                                              {8 * word, 0x700},
                                                              {10 * word, 0x900},
                                                              {11 * word, 0xa00}});
    // The visitor ends in the middle of an element.
    CHECK(references(runtime, at, values, 13 * word, 2) == Found{{3 * word, 0x200}, {5 * word, 0x400}});
  }
}

TEST_CASE("the last element of an array has its references, wherever the first one lies in it", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const std::uint64_t word = runtime.word;
    const Address at = runtime.fresh_region();
    const auto fill = [&](Address type, std::uint32_t length, unsigned words) {
      runtime.object(at, type, length);
      for (unsigned i = 0; i < words; ++i) runtime.set_word(at + (2 + i) * word, 0x100 * (i + 1));
    };
    // Elements of three words: two numbers and a reference. What the type repeats begins with the reference.
    const Address third = runtime.array_of_values(static_cast<std::uint32_t>(3 * word), 2 * word,
                                                  {{1, static_cast<unsigned>(2 * word)}});
    fill(third, 3, 9);
    CHECK(references(runtime, at, third, 12 * word) ==
          Found{{4 * word, 0x300}, {7 * word, 0x600}, {10 * word, 0x900}});
    fill(third, 1, 3);
    CHECK(references(runtime, at, third, 6 * word) == Found{{4 * word, 0x300}});
    // Elements of six words: three numbers, a reference, a number, a reference.
    const Address fourth =
        runtime.array_of_values(static_cast<std::uint32_t>(6 * word), 3 * word,
                                {{1, static_cast<unsigned>(word)}, {1, static_cast<unsigned>(3 * word)}});
    fill(fourth, 2, 12);
    CHECK(references(runtime, at, fourth, 15 * word) ==
          Found{{5 * word, 0x400}, {7 * word, 0x600}, {11 * word, 0xa00}, {13 * word, 0xc00}});
  }
}

TEST_CASE("runs of references that lie outside of their object are left out", "[heap]") {
  HeapRuntime runtime({});
  const Address at = runtime.fresh_region();
  for (unsigned i = 1; i < 8; ++i) runtime.set_word(at + i * 8, 0x1000 * i);
  const Address type = runtime.type_with(32, {{8, 64}, {64, 8}, {16, 8}});
  CHECK(references(runtime, at, type, 32) == Found{{16, 0x2000}});
  runtime.set_word(type - 8, 1 << 20);
  const Target target = runtime.target();
  HeapTypes types(target);
  const char* why = nullptr;
  types.find(type, why);
  ReferenceMaps maps(types);
  CHECK(maps.of(0).fault.find("1048576 runs") != std::string::npos);
  CHECK(maps.of(0).empty());
}

TEST_CASE("an object has no more references than words, whatever its type says", "[heap]") {
  HeapRuntime runtime({});
  const Address at = runtime.fresh_region();
  for (unsigned i = 1; i < 64; ++i) runtime.set_word(at + i * 8, 0x1000 * i);
  const Address type = runtime.type_with(512, std::vector<HeapRuntime::Series>(60, {8, 500}));
  CHECK(references(runtime, at, type, 512).size() <= 63);
  const auto fault_of_type = [&](Address table) {
    const Target target = runtime.target();
    HeapTypes types(target);
    const char* why = nullptr;
    REQUIRE(types.find(table, why));
    return read_reference_map(target, types.at(0)).fault;
  };
  const Address many = runtime.type_with(32, std::vector<HeapRuntime::Series>(5, {8, 0}));
  CHECK(fault_of_type(many).find("5 runs of references in 32 bytes") != std::string::npos);
  const Address values = runtime.array_of_values(16, 0, {{0, 0}, {0, 0}, {1, 8}});
  CHECK(fault_of_type(values).find("-3 runs of references in 16 bytes") != std::string::npos);
}

TEST_CASE("runs of references that lie in each other count once", "[heap]") {
  HeapRuntime runtime({});
  const Address at = runtime.fresh_region();
  for (unsigned i = 1; i < 8; ++i) runtime.set_word(at + i * 8, 0x1000 * i);
  const Address type = runtime.type_with(64, {{8, 16}, {8, 16}, {16, 16}, {24, 8}, {24, 0}, {48, 8}});
  CHECK(references(runtime, at, type, 64) == Found{{8, 0x1000}, {16, 0x2000}, {24, 0x3000}, {48, 0x6000}});
}

TEST_CASE("an object's references end at memory that is missing", "[heap]") {
  HeapRuntime runtime({});
  const Address at = runtime.fresh_region(), end = (at / 4096 + 1) * 4096;
  runtime.memory.erase(end, 0x8000);
  const Address values = runtime.array_of_values(16, 8, {{1, 8}});
  constexpr std::uint32_t length = ~std::uint32_t{0};
  runtime.object(at, values, length);
  for (Address place = at + 24; place < end; place += 16) runtime.set_word(place, 0x1000);
  CHECK(references(runtime, at, values, 24 + std::uint64_t{16} * length).size() == (end - at - 24 + 15) / 16);
  const Address outside = runtime.array_of_values(16, std::uint64_t{1} << 35, {{1, 8}});
  runtime.object(at, outside, length);
  CHECK(references(runtime, at, outside, 24 + std::uint64_t{16} * length).empty());
  const Address type = runtime.type_with(0x8000, {{8, 8}, {0x2000, 8}, {0x7100, 8}});
  runtime.set_word(at + 0x7100, 0x7000);
  CHECK(references(runtime, at, type, 0x8000) == Found{{8, length}});
}

TEST_CASE("the elements of an array have the references and the size that its type says", "[heap]") {
  HeapRuntime runtime({});
  const auto map_of = [&](Address table, std::size_t most = max_reference_series) {
    const Target target = runtime.target();
    HeapTypes types(target);
    const char* why = nullptr;
    REQUIRE(types.find(table, why));
    return read_reference_map(target, types.at(0), most);
  };
  const ReferenceMap good = map_of(runtime.array_of_values(40, 8, {{1, 8}, {2, 8}}));
  CHECK(good.fault.empty());
  CHECK(good.stride == 40);
  CHECK(good.said == 2);
  const auto fault = [&](Address table, std::size_t most = max_reference_series) {
    const ReferenceMap map = map_of(table, most);
    CHECK(map.empty());
    return map.fault;
  };
  CHECK(fault(runtime.array_of_values(40, 8, {{1, 8}, {0, 24}})).find("a run without references") !=
        std::string::npos);
  CHECK(fault(runtime.array_of_values(48, 8, {{1, 8}, {2, 8}}))
            .find("40 bytes with references in elements of 48") != std::string::npos);
  CHECK(
      fault(runtime.type_with(64, {{8, 8}, {24, 8}}, 0x8000'0008)).find("2 runs of references in an array") !=
      std::string::npos);
  CHECK(fault(runtime.type_with(64, {{8, 8}, {24, 8}}), 1).find("2 runs of references, where 1 are left") !=
        std::string::npos);
}

TEST_CASE("all maps of references together have a limit", "[heap]") {
  HeapRuntime runtime({});
  const Target target = runtime.target();
  HeapTypes types(target);
  ReferenceMaps maps(types, 5);
  const char* why = nullptr;
  const auto map_of = [&](Address table) -> const ReferenceMap& { return maps.of(*types.find(table, why)); };
  const Address first = runtime.type_with(64, {{8, 8}, {24, 8}, {40, 800}}),
                second = runtime.type_with(64, {{8, 8}, {24, 8}, {40, 8}}),
                third = runtime.type_with(64, {{8, 8}, {24, 8}}), fourth = runtime.array_of_references();
  CHECK(map_of(first).series.size() == 2); // the one that is left out counts
  CHECK(map_of(second).fault.find("3 runs of references, where 2 are left") != std::string::npos);
  CHECK(map_of(third).series.size() == 2);
  CHECK(map_of(first).series.size() == 2);
  CHECK(maps.faults().types == 1);
  CHECK_FALSE(map_of(fourth).fault.empty());
  const ReferenceMaps::Faults faults = maps.faults();
  CHECK(faults.types == 2);
  CHECK(faults.first == fmt::format("{:#x}: {}", second, map_of(second).fault));
}

TEST_CASE("objects have numbers by their addresses", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address type = runtime.type(4 * word);
    std::vector<Address> objects;
    for (unsigned region = 0; region < 4; ++region) {
      const Address begin = runtime.fresh_region();
      Address at = begin;
      // The second region holds nothing but free memory.
      for (unsigned i = 0; i < 90 && region != 1; ++i) {
        objects.push_back(at);
        at = runtime.object(at, type);
      }
      at = runtime.object(at, runtime.free_type, 100 * word);
      runtime.segment(0, 2, begin, at);
    }
    const Target target = runtime.target();
    const HeapMap map = read_heap_map(target, HeapRuntime::module);
    HeapTypes types(target);
    for (const unsigned threads : {1u, 3u}) {
      const HeapIndex index(map, types, {}, threads);
      REQUIRE(index.count() == objects.size());
      for (std::uint32_t i = 0; i < objects.size(); ++i) {
        CHECK(index.find(objects[i]) == i);
        CHECK(index.address(i) == objects[i]);
        CHECK(index.last_before(objects[i] + 3 * word) == i);
        CHECK(index.find(objects[i] + word) == HeapIndex::none);
        CHECK(index.find(objects[i] + 1) == HeapIndex::none);
      }
      CHECK(index.find(0x10) == HeapIndex::none);
      CHECK(index.last_before(objects.front() - word) == HeapIndex::none);
      CHECK(index.find(map.ranges[1].begin) == HeapIndex::none);
      CHECK(index.last_before(map.ranges[1].begin + word) == HeapIndex::none);
      CHECK(index.find(~Address{0}) == HeapIndex::none);
      CHECK(index.first_of(1) == 90);
      CHECK(index.first_of(2) == 90);
      CHECK(index.first_of(4) == 270);
    }
  }
}

TEST_CASE("numbers take memory by the objects that are found, not by what a range claims", "[heap]") {
  HeapRuntime runtime({});
  const Address type = runtime.type(32);
  const Address begin = runtime.fresh_region();
  const Address second = runtime.object(begin, type);
  const Address behind = runtime.object(second, type);
  constexpr std::uint64_t claimed = max_heap_segment_bytes - 0x10000; // 64 GB of bits
  const Address segment = runtime.segment(0, 2, begin, begin + claimed);
  for (unsigned i = 1; i <= 3; ++i) runtime.set_word(segment + i * 8, begin + claimed); // reserved
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  REQUIRE(map.ranges.size() == 1);
  REQUIRE(map.ranges[0].size() == claimed);
  HeapTypes types(target);
  const HeapIndex index(map, types, {}, 1);
  CHECK(index.count() == 2);
  CHECK(index.find(second) == 1);
  CHECK(index.find(behind) == HeapIndex::none);
  CHECK(index.find(begin + claimed / 2) == HeapIndex::none);
  CHECK(index.last_before(begin + claimed / 2) == 1);
  CHECK(index.address(1) == second);
}

TEST_CASE("objects that lie far from each other have numbers, too", "[heap]") {
  HeapRuntime runtime({});
  const Address small = runtime.type(32), array = runtime.array_of_values(0xfff8, 0, {{1, 0xfff0}});
  const Address begin = runtime.fresh_region();
  // A word of bits for each word of the heap would take 60 GB.
  constexpr std::uint32_t length = 8 << 20; // 512 GB
  std::vector<Address> objects;
  Address at = begin;
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned k = 0; k <= 40 * (i % 2); ++k) {
      runtime.set_word(at + 8, 0);
      objects.push_back(at);
      at = runtime.object(at, small);
    }
    runtime.set_word(at + 8, 0);
    objects.push_back(at);
    at = runtime.object(at, i < 7 ? array : small, length);
  }
  const Address segment = runtime.segment(0, 2, begin, at);
  for (unsigned i = 1; i <= 3; ++i) runtime.set_word(segment + i * 8, at); // reserved
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  REQUIRE(map.ranges.size() == 1);
  HeapTypes types(target);
  const HeapIndex index(map, types, {}, 1);
  REQUIRE(index.count() == objects.size());
  for (std::uint32_t i = 0; i < objects.size(); ++i) {
    CAPTURE(i);
    CHECK(index.find(objects[i]) == i);
    CHECK(index.find(objects[i] + 8) == HeapIndex::none);
    CHECK(index.address(i) == objects[i]);
    CHECK(index.last_before((i + 1 < objects.size() ? objects[i + 1] : at) - 8) == i);
  }
  CHECK(index.find(objects[1] + (std::uint64_t{1} << 38)) == HeapIndex::none);
  CHECK(index.last_before(objects[1] + (std::uint64_t{1} << 38)) == 1);
  CHECK(index.last_before(begin - 8) == HeapIndex::none);
  CHECK(index.first_of(1) == objects.size());
}

TEST_CASE("ranges without objects lie between those that have some", "[heap]") {
  HeapRuntime runtime({});
  const Address type = runtime.type(32);
  const Address begin = runtime.fresh_region();
  // In one block of memory: every third of them has an object.
  constexpr std::uint32_t count = 90;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Address at = begin + i * 64;
    if (i % 3 == 1) runtime.object(at, type);
    runtime.segment(0, 2, at, i % 3 == 1 ? at + 32 : at);
  }
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  REQUIRE(map.ranges.size() == count);
  HeapTypes types(target);
  const HeapIndex index(map, types, {}, 2);
  REQUIRE(index.count() == count / 3);
  for (std::uint32_t i = 0; i < count; ++i) {
    CAPTURE(i);
    const Address at = begin + i * 64;
    const std::uint32_t number = i % 3 == 1 ? i / 3 : HeapIndex::none;
    CHECK(index.find(at) == number);
    CHECK(index.last_before(at + 8) == number);
    CHECK(index.find(at + 32) == HeapIndex::none);
    CHECK(index.first_of(i) == (i + 1) / 3);
    if (number != HeapIndex::none) CHECK(index.address(number) == at);
  }
}

TEST_CASE("paths are the shortest ones from any root", "[heap]") {
  HeapRuntime runtime({});
  const Address begin = runtime.fresh_region();
  const Address node = runtime.type_with(32, {{8, 16}}); // two references
  std::vector<Address> at;
  for (unsigned i = 0; i < 8; ++i) {
    at.push_back(begin + 32 * i);
    runtime.object(at[i], node);
  }
  const auto refer = [&](unsigned from, unsigned field, unsigned to) {
    runtime.set_word(at[from] + 8 + 8 * field, at[to]);
  };
  refer(0, 0, 1);
  refer(1, 0, 2);
  refer(2, 0, 3);
  refer(3, 0, 1); // a ring
  refer(4, 0, 3);
  refer(5, 0, 4);                          // dead, but for the handle of 6
  runtime.set_word(at[6] + 16, at[0] + 8); // leads to no object
  runtime.segment(0, 2, begin, begin + 8 * 32);
  runtime.handle(6, at[3], at[7]);
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  ReferenceMaps maps(types);
  HeapGraph graph(map, maps, read_handles(target, map.state), {}, 2);
  CHECK(graph.out().count() == 7); // with the edge of the dependent handle
  CHECK(graph.stray_count() == 1);
  REQUIRE(graph.strays().size() == 1);
  CHECK(graph.strays()[0].object == at[6]);
  CHECK(graph.strays()[0].offset == 16);
  const auto out = graph.out().of(3);
  CHECK(std::vector(out.begin(), out.end()) == std::vector<std::uint32_t>{1, 7});
  const auto in = graph.in().of(3);
  CHECK(std::vector(in.begin(), in.end()) == std::vector<std::uint32_t>{2, 4});
  CHECK(graph.in().of(5).empty());
  CHECK(graph.in().of(7).size() == 1);

  const std::vector<std::uint32_t> roots{HeapIndex::none, 0, 4, 0};
  const HeapTree tree(graph, roots);
  CHECK(tree.reached_count() == 6);
  CHECK_FALSE(tree.reached(5));
  const auto path = [&](std::uint32_t object, std::size_t most) {
    const HeapTree::Path found = tree.path(object, most);
    std::vector<std::uint32_t> all = found.first;
    all.insert(all.end(), found.last.begin(), found.last.end());
    return std::pair{all, found.left_out};
  };
  using Objects = std::vector<std::uint32_t>;
  CHECK(path(5, 10) == std::pair{Objects{}, std::size_t{0}});
  CHECK(path(2, 10) == std::pair{Objects{0, 1, 2}, std::size_t{0}});
  CHECK(path(2, 2) == std::pair{Objects{0, 1, 2}, std::size_t{0}});
  CHECK(path(2, 1) == std::pair{Objects{0, 2}, std::size_t{1}});
  CHECK(path(3, 10) == std::pair{Objects{4, 3}, std::size_t{0}});
  CHECK(path(7, 10) == std::pair{Objects{4, 3, 7}, std::size_t{0}});
  HeapTree::Path cut{.first = {}, .last = {0, 1, 2, 3, 4}, .left_out = 0};
  cut.cut(3);
  CHECK(cut.last.size() == 5);
  cut.cut(2);
  CHECK(std::tuple{cut.first, cut.last, cut.left_out} ==
        std::tuple{Objects{0, 1}, Objects{3, 4}, std::size_t{1}});
  CHECK(path(7, 1) == std::pair{Objects{4, 7}, std::size_t{1}});
  CHECK(tree.root_of(0) == 1u);
  CHECK(tree.root_of(4) == 2u);
  CHECK_FALSE(tree.root_of(3));
  for (const bool live : {true, false}) {
    const HeapLiveness only{.index = &graph.index(), .tree = &tree, .live = live};
    const HeapStatistics counted = count_heap(map, types, {}, 2, &only);
    REQUIRE(counted.types.size() == 1);
    CHECK(counted.types[0].all().objects == (live ? 6 : 2));
  }
  const HeapTree stopped(graph, roots, {.progress = [](std::uint64_t, std::uint64_t) { return false; }});
  CHECK(stopped.interrupted());
}

TEST_CASE("objects of a type that can be unloaded hold its loader", "[heap]") {
  HeapRuntime runtime({});
  runtime.t.type("MethodTableAuxiliaryData", {{"Flags", Width::u32}, {"LoaderModule"}});
  runtime.t.type("Module", {{"Other"}, {"LoaderAllocator"}});
  const Address begin = runtime.fresh_region();
  const Address plain = runtime.type(32), collectible = runtime.type(32, 0, 0x0020'0000);
  runtime.object(begin, plain);
  runtime.object(begin + 32, collectible);
  runtime.segment(0, 2, begin, begin + 64);
  const Address native = runtime.memory.allocate(2400);
  const Address module = runtime.t.record("Module", {{"LoaderAllocator", native}});
  const Address auxiliary = runtime.t.record("MethodTableAuxiliaryData", {{"LoaderModule", module}});
  runtime.t.set(collectible, "MethodTable", "AuxiliaryData", auxiliary);
  runtime.handle(0, begin); // of another kind than the loader's
  runtime.set_word(native + 752, runtime.handle(1, begin));
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  ReferenceMaps maps(types);
  const GcHandles handles = read_handles(target, map.state);
  const HeapGraph graph(map, maps, handles, {}, 1);
  REQUIRE(graph.out().count() == 1);
  CHECK(graph.out().of(1)[0] == 0);
  // The allocator is read at once, as far as it is there.
  for (const bool cut : {false, true}) {
    if (cut) runtime.memory.erase(native + 760, 2400 - 760);
    CountingReader reads(runtime.memory);
    const Target counted(reads, runtime.t.contract_descriptor(), Platform{});
    HeapTypes few(counted);
    const char* why = nullptr;
    const auto number = few.find(collectible, why);
    REQUIRE(number);
    const std::uint64_t before = reads.reads();
    CHECK(LoaderAllocators(few, handles).of(*number) == begin);
    CHECK(reads.reads() - before == 4);
  }
}
