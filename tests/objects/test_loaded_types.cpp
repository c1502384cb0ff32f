#include "core/objects/loaded_types.h"
#include "core/objects/lookup_map.h"
#include "tests/objects/object_runtime.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace clr;
using namespace clr::test;

namespace {

std::string name_of(const LoadedTypes& loaded, Address table) {
  const auto found = std::ranges::find(loaded.types, table, &LoadedType::method_table);
  return found == loaded.types.end() ? "not loaded" : found->text;
}

} // namespace

TEST_CASE("all loaded types are listed, definitions and instances", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      std::vector<Error> faults;
      const LoadedTypes loaded =
          loaded_types(view.objects.finder(), [&](const Error& fault) { faults.push_back(fault); });
      CHECK(faults.empty());
      CHECK(name_of(loaded, r.dog_type) == "Ns.Dog");
      CHECK(name_of(loaded, r.color_type) == "Ns.Color");
      CHECK(name_of(loaded, r.string_type) == "System.String"); // as it is declared
      CHECK(name_of(loaded, r.list_of_int) == "System.Collections.Generic.List<int>");
      CHECK(name_of(loaded, r.ints_type) == "not loaded"); // an array
    }
  }
}

TEST_CASE("the mark of loaded types is another one when one more is loaded", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      TypeFinder& finder = view.objects.finder();
      const std::uint64_t first = mark_of_loaded_types(finder);
      CHECK(mark_of_loaded_types(finder) == first);
      r.map_types(r.app, {{2, r.color_type}, {3, r.access_type}});
      CHECK(mark_of_loaded_types(finder) != first);
      r.map_types(
          r.app,
          {{2, r.color_type}, {3, r.access_type}, {4, r.point_type}, {5, r.animal_type}, {6, r.dog_type}});
      const std::uint64_t again = mark_of_loaded_types(finder);
      const Address table =
          view.target.read_pointer(view.target.field_address(r.core_lib, "Module", "AvailableTypeParams"));
      r.runtime.target.set(table, "EETypeHashTable", "Count", 2);
      CHECK(mark_of_loaded_types(finder) != again);
    }
  }
}

TEST_CASE("a map whose second part is missing answers for its first", "[objects]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  ObjectView view(r);
  const Target& target = view.target;
  const auto map = [&] { return read_lookup_map(target, r.app, "TypeDefToMethodTableMap"); };
  const LookupMap whole = map();
  REQUIRE(whole.parts.size() == 1);
  CHECK_FALSE(whole.fault);
  CHECK(find_in(target, whole, 6) == r.dog_type);
  CHECK(find_in(target, whole, whole.parts[0].count) == 0);
  CHECK(find_in(target, read_lookup_map(target, r.app, "NoSuchMap"), 6) == 0);

  const Address node = r.app + static_cast<Address>(target.offset("Module", "TypeDefToMethodTableMap"));
  r.memory.at(target.field_address(node, "ModuleLookupMap", "Next")).pointer(0x10);
  const LookupMap torn = map();
  REQUIRE(torn.fault);
  CHECK(torn.fault->kind() == ErrorKind::memory_missing);
  CHECK(find_in(target, torn, 6) == r.dog_type);
  CHECK_THROWS_AS(find_in(target, torn, torn.parts[0].count), Error);
  std::vector<Error> faults;
  const LoadedTypes loaded =
      loaded_types(view.objects.finder(), [&](const Error& fault) { faults.push_back(fault); });
  CHECK(name_of(loaded, r.dog_type) == "Ns.Dog");
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().kind() == ErrorKind::memory_missing);

  r.memory.at(target.field_address(node, "ModuleLookupMap", "Next")).pointer(node); // without an end
  CHECK(map().parts.size() == max_map_parts);
  REQUIRE(map().fault);
  CHECK(map().fault->kind() == ErrorKind::corrupt);
}

TEST_CASE("the rows of the maps of all modules together have a limit", "[objects]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  constexpr std::uint32_t most = max_map_rows - map_part_rows, maps = max_all_map_rows / max_map_rows;
  std::vector<Address> modules{r.core_lib};
  const Address map = static_cast<Address>(r.runtime.target.offset("Module", "TypeDefToMethodTableMap"));
  for (std::uint32_t i = 0; i < 2 * maps; ++i) {
    modules.push_back(r.runtime.module({.path = fmt::format("/srv/{}.dll", i), .simple_name = "a"}));
    r.runtime.overlay(modules.back() + map, "ModuleLookupMap",
                      {{"TableData", 0x10}, {"Count", most}, {"SupportedFlagsMask", 1}});
  }
  modules.push_back(r.app);
  r.runtime.app_domain(modules);
  ObjectView view(r);
  std::vector<Error> faults;
  const LoadedTypes loaded =
      loaded_types(view.objects.finder(), [&](const Error& fault) { faults.push_back(fault); });
  // All but one of those that there is room for are not in the memory, and those behind are not looked at.
  REQUIRE(faults.size() == maps);
  for (std::size_t i = 0; i + 1 < maps; ++i) CHECK(faults[i].kind() == ErrorKind::memory_missing);
  CHECK_THAT(faults.back().what(), Catch::Contains("lookup maps of more than 67108864 rows"));
  CHECK(name_of(loaded, r.string_type) == "System.String");
  CHECK(name_of(loaded, r.dog_type) == "not loaded");
  const std::uint64_t mark = mark_of_loaded_types(view.objects.finder());
  r.runtime.overlay(r.app + map, "ModuleLookupMap",
                    {{"TableData", 0x10}, {"Count", 3}, {"SupportedFlagsMask", 1}});
  CHECK(mark_of_loaded_types(view.objects.finder()) == mark); // nor do they count
}

TEST_CASE("no more types are listed than there may be, though modules share a map", "[objects]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  constexpr std::uint32_t rows = 20'000;
  const Address table = r.memory.allocate(rows * 8);
  std::vector<std::byte> words(rows * 8);
  for (std::uint32_t i = 0; i < rows; ++i) std::memcpy(&words[i * 8], &r.dog_type, 8);
  r.memory.write(table, words);
  const Address map = static_cast<Address>(r.runtime.target.offset("Module", "TypeDefToMethodTableMap"));
  std::vector<Address> modules;
  for (unsigned i = 0; i < 5; ++i) {
    modules.push_back(r.runtime.module({.path = fmt::format("/srv/{}.dll", i), .simple_name = "a"}));
    r.runtime.overlay(modules.back() + map, "ModuleLookupMap",
                      {{"TableData", table}, {"Count", rows}, {"SupportedFlagsMask", 1}});
  }
  // This one is not looked at, nor is what is behind the last row that there is room for.
  r.runtime.overlay(modules.back() + map, "ModuleLookupMap", {{"TableData", 0x10}, {"Count", rows}});
  modules.push_back(r.app);
  modules.push_back(r.core_lib);
  r.runtime.app_domain(modules);
  ObjectView view(r);
  std::vector<Error> faults;
  const LoadedTypes loaded =
      loaded_types(view.objects.finder(), [&](const Error& fault) { faults.push_back(fault); });
  CHECK(faults.empty());
  CHECK(loaded.more);
  CHECK(loaded.types.size() == max_loaded_types);
}
