#include "core/objects/inspected_object.h"
#include "core/objects/object_path.h"
#include "core/objects/static_fields.h"
#include "core/objects/type_search.h"
#include "tests/objects/framework_types.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

using namespace clr;
using namespace clr::test;

namespace {

using Kind = InspectedValue::Kind;

// A dog at a place, born, with a friend and scores.
struct Kennel {
  explicit Kennel(const Platform& platform) : r(platform), view(r) {
    const unsigned p = r.runtime.pointer();
    r.runtime.target.set(r.ints_type, "MethodTable", "BaseSize", 3 * p); // as real arrays have it
    friend_ = r.instance(r.dog_type, 3 * p + 16);
    r.memory.at(r.fields_of(friend_)).pointer(r.string(u"Rex")).pointer(Address{0}).pointer(Address{0});
    const Address items = r.array(r.ints_type, 4, 16);
    r.memory.at(r.elements_of(items)).u32(5).u32(6);
    scores = r.instance(r.list_of_int, p + 4);
    r.memory.at(r.fields_of(scores)).pointer(items).u32(2);
    dog = r.instance(r.dog_type, 3 * p + 16);
    r.memory.at(r.fields_of(dog))
        .pointer(r.string(u"Ada"))
        .pointer(friend_)
        .pointer(scores)
        .u32(7)
        .u32(8)
        .u64(0x489f'7ff5'f7b5'8000);
  }
  InspectedObject inspect(Address object, const InspectionLimits& limits = {}) {
    return inspect_object(view.objects, object, limits);
  }
  ValuePlace follow(std::string_view path) { return follow_path(view.objects, dog, path); }
  std::string text_at(std::string_view path) {
    const ValuePlace place = follow(path);
    return view.objects.describe_value(*place.type, place.at);
  }

  ObjectRuntime r;
  ObjectView view;
  Address friend_ = 0, scores = 0, dog = 0;
};

} // namespace

TEST_CASE("an object is taken apart into fields, those of its base class first", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      Kennel k(platform);
      const unsigned p = platform.pointer_size;
      const InspectedObject dog = k.inspect(k.dog);
      CHECK(dog.type == "Ns.Dog");
      CHECK(dog.method_table == k.r.dog_type);
      CHECK(dog.fault.empty());
      CHECK(dog.size == (5 * p + 16 + p - 1) / p * p);
      CHECK_FALSE(dog.item_count);
      REQUIRE(dog.fields.size() == 5);

      CHECK(dog.fields[0].name == "Name");
      CHECK(dog.fields[0].declared_in == "Ns.Animal");
      CHECK(dog.fields[0].offset == p);
      CHECK(dog.fields[0].value.kind == Kind::reference);
      CHECK(dog.fields[0].value.type == "string");
      CHECK(dog.fields[0].value.text == "\"Ada\"");

      // By the type that it has, not by the declared one.
      CHECK(dog.fields[1].name == "Friend");
      CHECK(dog.fields[1].declared_in == "Ns.Dog");
      CHECK(dog.fields[1].value.object == k.friend_);
      CHECK(dog.fields[1].value.type == "Ns.Animal");
      CHECK(dog.fields[1].value.object_type == "Ns.Dog");
      CHECK(shown_type(dog.fields[1].value) == "Ns.Dog (Ns.Animal)");
      CHECK(shown_type(dog.fields[0].value) == "string");

      CHECK(dog.fields[3].name == "<Place>k__BackingField");
      CHECK(dog.fields[3].property == "Place");
      CHECK(dog.fields[3].value.kind == Kind::text);
      CHECK(dog.fields[3].value.text == "{X = 7, Y = 8}");
      REQUIRE(dog.fields[3].fields.size() == 2);
      CHECK(dog.fields[3].fields[1].name == "Y");
      CHECK(dog.fields[3].fields[1].offset == 4);
      CHECK(dog.fields[3].fields[1].value.kind == Kind::integer);
      CHECK(dog.fields[3].fields[1].value.bits == 8);
      CHECK(dog.fields[4].value.text == "1970-01-01 00:00:00 UTC");

      const InspectedObject other = k.inspect(k.friend_);
      CHECK(other.fields[1].value.kind == Kind::reference);
      CHECK(other.fields[1].value.object == 0);
      CHECK(other.fields[1].value.text.empty());
      CHECK(shown_text(other.fields[1].value) == "null");

      const InspectedObject as_animal = inspect_object_as(k.view.objects, k.dog, k.r.animal_type, {});
      CHECK(as_animal.type == "Ns.Animal");
      CHECK(as_animal.fields.size() == 1);
    }
  }
}

TEST_CASE("arrays and collections are taken apart into elements", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      Kennel k(platform);
      const unsigned p = platform.pointer_size;
      const InspectedObject list = k.inspect(k.scores);
      CHECK(list.item_count == 2);
      REQUIRE(list.items.size() == 2);
      CHECK_FALSE(list.items[0].key);
      CHECK(list.items[1].value.bits == 6);

      const Address ints = k.r.array(k.r.ints_type, 3, 12);
      k.r.memory.at(k.r.elements_of(ints)).u32(1).u32(0xffff'fffe).u32(3);
      const InspectedObject array = k.inspect(ints, {.items = 2});
      CHECK(array.item_count == 3);
      CHECK(array.size == (3 * p + 12 + p - 1) / p * p);
      REQUIRE(array.items.size() == 2);
      CHECK(static_cast<std::int64_t>(array.items[1].value.bits) == -2);

      const InspectedObject text = k.inspect(k.r.string(u"abc"));
      CHECK(text.text == "\"abc\"");
      CHECK(text.fields.empty());

      // A length that lies costs the elements that are not there, and no more.
      const Address torn = k.r.array(k.r.ints_type, 0x7fff'ffff, 4);
      const InspectedObject lying = k.inspect(torn, {.items = 3});
      CHECK(lying.item_count == 0x7fff'ffff);
      REQUIRE(lying.items.size() == 3);
      CHECK(lying.items[0].value.fault.empty());
      CHECK_FALSE(lying.items[1].value.fault.empty());
    }
  }
}

TEST_CASE("elements are read until somebody interrupts", "[objects]") {
  Kennel k{Platform{}};
  const Address ints = k.r.array(k.r.ints_type, 200, 800);
  for (std::size_t often : {0u, 1u, 2u}) {
    std::size_t asked = 0;
    const InspectedObject found = k.inspect(ints, {.items = 1'000, .stop = [&] { return asked++ == often; }});
    CHECK(found.items.size() == often * 64);
    CHECK(found.item_count == 200);
    CHECK_THAT(found.fault, Catch::StartsWith("interrupted"));
  }
  CHECK(k.inspect(ints, {.items = 1'000, .stop = [] { return false; }}).items.size() == 200);
}

TEST_CASE("structures in structures do not multiply without end", "[objects]") {
  ObjectRuntime made{Platform{}};
  FrameworkTypes types(made);
  ObjectView view(made);
  InspectionLimits limits;
  limits.text = {.elements = 1, .depth = 1};
  const InspectedObject found = inspect_object(view.objects, types.make("Wide5", {}), limits);
  CHECK_THAT(found.fault, Catch::Contains("more fields"));
  std::size_t fields = 0;
  const std::function<void(const std::vector<InspectedField>&)> count = [&](const auto& some) {
    fields += some.size();
    for (const InspectedField& field : some) count(field.fields);
  };
  count(found.fields);
  CHECK(fields == InspectionLimits::max_fields);

  // Of a structure alone there is no object that could say it.
  const TypeUse wide{.kind = TypeUse::Kind::value,
                     .method_table = view.objects.method_table_of(found.address),
                     .name = unknown_type()};
  const Address first = found.address + made.runtime.pointer();
  const std::vector<InspectedField> parts = inspect_structure(view.objects, wide, first, limits);
  REQUIRE_FALSE(parts.empty());
  CHECK(parts.back().name == "...");
  CHECK_THAT(parts.back().value.fault, Catch::Contains("more fields"));
}

TEST_CASE("missing memory costs a field, not the object", "[objects]") {
  Kennel k({});
  k.r.memory.erase(k.friend_, 8);
  const InspectedObject dog = k.inspect(k.dog);
  CHECK(dog.fields[1].value.kind == Kind::reference);
  CHECK(dog.fields[1].value.object == k.friend_);
  CHECK_THAT(dog.fields[1].value.fault, Catch::Contains("not available"));
  CHECK(dog.fields[0].value.fault.empty());

  CHECK(fault_of([&] { k.inspect(k.dog + 1); }));
  CHECK(fault_of([&] { k.inspect(0x1234'5678); }));
  CHECK(fault_of([&] { k.inspect(k.r.point_type); }));

  // A word within an object that holds a type, as System.Type's do.
  const Address holder = k.r.instance(k.r.dog_type, 40);
  k.r.memory.at(k.r.fields_of(holder)).pointer(Address{0x1234'5678}).pointer(k.r.animal_type);
  const auto fault = fault_of([&] { k.inspect(k.r.fields_of(holder) + 8); });
  REQUIRE(fault);
  CHECK_THAT(fault->what(), Catch::Contains("no header"));
}

TEST_CASE("paths lead to fields, properties and elements", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      Kennel k(platform);
      CHECK(k.text_at(".Name") == "\"Ada\"");
      CHECK(k.text_at(".Friend.Name") == "\"Rex\"");
      CHECK(k.text_at(".Place.Y") == "8");
      CHECK(k.text_at(".<Place>k__BackingField.X") == "7");
      CHECK(k.text_at(".Scores[1]") == "6");
      CHECK(k.text_at(".Scores[ 0 ]") == "5");
      CHECK(k.text_at(".Scores._items[1]") == "6");

      for (const auto& [path, why] : std::initializer_list<std::pair<const char*, const char*>>{
               {".Nothing", "has no field Nothing"},
               {".Scores[2]", "no such element among the 2"},
               {".Scores[-1]", "no such element"},
               {".Scores._items[4]", "4 is outside"},
               {".Scores._items[0,1]", "takes 1 numbers"},
               {".Friend.Friend.Name", "there is a null where Name is looked for"},
               {".Place.Y.Z", "has no part Z"},
               {".Name[0]", "no collection"},
               {".Scores[", "without its ]"},
               {".Scores[\"a", "without its end"},
               {"..Name", "a dot without a name"},
               {"", "empty path"}}) {
        INFO(path);
        const auto fault = fault_of([&] { k.follow(path); });
        REQUIRE(fault);
        CHECK(fault->kind() == ErrorKind::invalid_argument);
        CHECK_THAT(fault->what(), Catch::Contains(why));
      }

      // An array of two dimensions that begins at 5 and 0.
      const Address grid = k.r.array(k.r.grid_type, 4, 32);
      k.r.memory.at(k.r.elements_of(grid)).u32(2).u32(2).u32(5).u32(0).u32(1).u32(2).u32(3).u32(4);
      const ValuePlace place = follow_path(k.view.objects, grid, "[6,1]");
      CHECK(k.view.objects.describe_value(*place.type, place.at) == "4");
      CHECK(fault_of([&] { follow_path(k.view.objects, grid, "[1,1]"); }));
      CHECK(fault_of([&] { follow_path(k.view.objects, grid, "[6]"); }));
      CHECK(fault_of([&] { follow_path(k.view.objects, grid, "[7,0]"); }));
      k.r.memory.at(k.r.elements_of(grid)).u32(2).u32(0).u32(0x8000'0000);
      CHECK(fault_of([&] { follow_path(k.view.objects, grid, "[9223372036854775807,0]"); }));
      CHECK_THROWS_WITH(follow_path(k.view.objects, grid, "[-2147483648,0]"),
                        Catch::Contains("which has no elements"));
    }
  }
}

TEST_CASE("types are found by their names", "[objects]") {
  Kennel k({});
  CHECK(find_type(k.view.objects, "Ns.Dog") == k.r.dog_type);
  CHECK(find_type(k.view.objects, "System.Collections.Generic.List<int>") == k.r.list_of_int);
  for (const char* const name : {"Ns.Cat", "Dog", "System.Collections.Generic.List<string>", "", "<"})
    CHECK(fault_of([&] { find_type(k.view.objects, name); }));
  CHECK_THROWS_WITH(find_type(k.view.objects, "Ns.Cat"), "the runtime has loaded no type Ns.Cat");
}

TEST_CASE("a type that is not found is said to be missing only where everything was searched", "[objects]") {
  Kennel k({});
  // The map of the module that leads from rows of its metadata to what is loaded.
  const Address map =
      k.r.app + static_cast<Address>(k.r.runtime.target.offset("Module", "TypeDefToMethodTableMap"));
  k.r.runtime.overlay(map, "ModuleLookupMap",
                      {{"TableData", 0x10}, {"Count", 16}, {"SupportedFlagsMask", 1}});
  ObjectView damaged(k.r);
  CHECK_THROWS_WITH(
      find_type(damaged.objects, "Ns.Dog"),
      "no type Ns.Dog was found, and not everything could be searched: memory at 0x40 is not available");
  CHECK(find_type(damaged.objects, "System.String") == k.r.string_type);
}

TEST_CASE("static fields by their names", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      Kennel k(platform);
      k.r.memory.at(0x60'0010).u32(3);
      const auto statics = [&](const std::string& wanted) {
        std::vector<StaticRow> rows;
        const auto notes = for_each_static(
            k.view.objects,
            {.accepts = [&](const std::string& name) { return name == wanted; }, .threads = {}, .limits = {}},
            [&](const StaticRow& row) {
              rows.push_back(row);
              return true;
            });
        CHECK(notes.empty());
        return rows;
      };
      const auto made = statics("Ns.Animal.Made");
      REQUIRE(made.size() == 1);
      CHECK(made[0].address == Address{0x60'0010});
      CHECK(made[0].value.bits == 3);
      CHECK(made[0].value.type == "int");
      CHECK(statics("Ns.Animal").size() == 2);
      CHECK(statics("Ns.Animal.Name").empty());
      // Its word is not in memory.
      const auto kingdom = statics("Ns.Animal.Kingdom");
      REQUIRE(kingdom.size() == 1);
      CHECK_FALSE(kingdom[0].value.fault.empty());
    }
  }
}
