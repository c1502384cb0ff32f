#include "core/objects/loaded_types.h"
#include "core/objects/lookup_map.h"
#include "tests/objects/object_runtime.h"

#include <catch2/catch.hpp>

#include <algorithm>

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
