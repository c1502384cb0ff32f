#include "core/objects/value_parts.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;
using namespace clr::test;

namespace {

std::vector<std::string> names_of(ValueParts& parts, ObjectReader& reader) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < parts.count(); ++i)
    if (const auto part = parts.at(reader, i)) names.push_back(part->name);
  return names;
}

} // namespace

TEST_CASE("the fields of an object are its parts, those of its base class first", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      const unsigned p = platform.pointer_size;
      const Address dog = r.instance(r.dog_type, 3 * p + 16);
      ValueParts parts = ValueParts::of_object(view.objects, dog);
      // In the order in which they are declared, not in that of their places; a property is called as it is
      // written, not as the compiler called its field.
      CHECK(names_of(parts, view.objects) ==
            std::vector<std::string>{"Name", "Friend", "Place", "Born", "Scores"});
      const auto place = parts.at(view.objects, 2);
      REQUIRE(place);
      CHECK(place->at == r.fields_of(dog) + 3 * p);
      CHECK(place->type->method_table == r.point_type);
      CHECK(place->lengths.empty());
      CHECK(parts.find("Place") == 2);
      CHECK_FALSE(parts.find("<Place>k__BackingField"));
      CHECK_FALSE(parts.find("[3]"));
      CHECK_FALSE(parts.at(view.objects, 5));

      ValueParts point = ValueParts::of_value(view.objects, r.point_type, place->at);
      CHECK(names_of(point, view.objects) == std::vector<std::string>{"X", "Y"});
      CHECK(point.at(view.objects, 1)->at == place->at + 4);
    }
  }
}

TEST_CASE("a boxed value has the parts of the value; texts and numbers have none", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      const Address box = r.instance(r.point_type, 8);
      ValueParts parts = ValueParts::of_object(view.objects, box);
      REQUIRE(parts.count() == 2);
      CHECK(parts.at(view.objects, 0)->at == r.fields_of(box));
      CHECK(ValueParts::of_object(view.objects, r.string(u"abc")).count() == 0);
      CHECK(ValueParts::of_object(view.objects, r.instance(r.int_type, 4)).count() == 0);
      CHECK(ValueParts::of_object(view.objects, r.instance(r.color_type, 4)).count() == 0);
      CHECK_THROWS_AS(ValueParts::of_object(view.objects, 0), Error);
    }
  }
}

TEST_CASE("the elements of arrays and the items of collections are parts", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      const unsigned p = platform.pointer_size;
      const Address ints = r.array(r.ints_type, 3, 16);
      r.memory.at(r.elements_of(ints)).u32(5).u32(6).u32(7);
      ValueParts array = ValueParts::of_object(view.objects, ints);
      CHECK(names_of(array, view.objects) == std::vector<std::string>{"[0]", "[1]", "[2]"});
      CHECK(array.at(view.objects, 2)->at == r.elements_of(ints) + 8);
      CHECK(array.find("[2]") == 2);
      CHECK_FALSE(array.find("[3]"));
      CHECK_FALSE(array.find("[-1]"));
      CHECK_FALSE(array.find("[1x]"));
      CHECK_FALSE(array.find("1"));

      const Address list = r.instance(r.list_of_int, p + 8);
      r.memory.at(r.fields_of(list)).pointer(ints).u32(2);
      ValueParts items = ValueParts::of_object(view.objects, list);
      CHECK(items.count() == 2);
      CHECK(items.find("[1]") == 1);
      CHECK(items.at(view.objects, 1)->at == r.elements_of(ints) + 4);
      CHECK_FALSE(items.at(view.objects, 2));

      // A length that lies costs nothing until an element is asked for.
      const Address torn = r.array(r.ints_type, 0x7fff'ffff, 4);
      CHECK(ValueParts::of_object(view.objects, torn).count() == 0x7fff'ffff);
    }
  }
}

TEST_CASE("an array of two dimensions consists of rows", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      const Address grid = r.array(r.grid_type, 6, 16 + 24);
      r.memory.at(r.elements_of(grid)).u32(2).u32(3).u32(10).u32(0);
      ValueParts rows = ValueParts::of_object(view.objects, grid);
      CHECK(names_of(rows, view.objects) == std::vector<std::string>{"[10]", "[11]"});
      CHECK(rows.find("[11]") == 1);
      const auto second = rows.at(view.objects, 1);
      CHECK(second->lengths == std::vector<std::uint32_t>{3});
      CHECK(second->at == r.elements_of(grid) + 16 + 12);
      // Lengths that contradict the count.
      r.memory.at(r.elements_of(grid)).u32(2).u32(4);
      CHECK_THROWS_AS(ValueParts::of_object(view.objects, grid), Error);
    }
  }
}

TEST_CASE("the only field of a fixed buffer is there as often as it has room", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      CHECK(view.objects.layouts().of(r.buffer_type).repeats == 5);
      CHECK(view.objects.layouts().of(r.point_type).repeats == 1);
      const Address at = r.memory.allocate(5);
      for (unsigned i = 0; i < 5; ++i) r.memory.at(at + i).u8(i + 1);
      CHECK(view.objects.describe_value(*view.objects.finder().of_handle(r.buffer_type), at) ==
            "byte[5] {1, 2, 3, 4, 5}");
      ValueParts parts = ValueParts::of_value(view.objects, r.buffer_type, at);
      REQUIRE(parts.count() == 5);
      CHECK(parts.at(view.objects, 3)->at == at + 3);
    }
  }
}
