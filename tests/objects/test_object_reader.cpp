#include "core/memory/counting_reader.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// A dog with a friend, and what its text is.
Address make_dog(ObjectRuntime& r, Address name) {
  const unsigned p = r.runtime.pointer();
  const Address dog = r.instance(r.dog_type, 3 * p + 16);
  r.memory.at(r.fields_of(dog)).pointer(name).pointer(dog).pointer(Address{0}).u32(7).u32(8).u64(0);
  return dog;
}

// Counts the reads at one address.
class WatchedMemory final : public MemoryReader {
public:
  WatchedMemory(MemoryReader& next, Address watched) : next_(&next), watched_(watched) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    seen_ += address == watched_ ? 1 : 0;
    return next_->read_some(address, out);
  }
  unsigned seen() const { return seen_; }

private:
  MemoryReader* next_;
  Address watched_;
  unsigned seen_ = 0;
};

} // namespace

TEST_CASE(
    "an instance of a generic type is looked for in the module of the type, then in those of its arguments",
    "[objects]") {
  constexpr std::uint32_t locals_of_dogs = 14; // StandAloneSig: List<Dog>
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  const Target target = r.runtime.target.target();
  const Address slot = target.field_address(r.app, "Module", "AvailableTypeParams");
  // As a type whose argument can be unloaded.
  const Address list_of_dog = r.runtime.type(
      {.module = r.core_lib, .rid = 7, .generic = MethodTable::Generic::exact, .arguments = {r.dog_type}});
  const Address entry = r.runtime.target.record("TypeHashEntry", {{"Value", list_of_dog}, {"Next", 1}});
  const Address buckets = r.memory.allocate(32);
  r.memory.at(buckets).pointer(Address{1}).pointer(Address{0}).pointer(Address{1}).pointer(entry);
  r.runtime.target.set(r.app, "Module", "AvailableTypeParams",
                       r.runtime.target.record("EETypeHashTable", {{"Buckets", buckets}, {"Count", 1}}));
  WatchedMemory memory(r.memory, slot);
  ObjectView view(r, memory);
  CHECK(view.objects.layouts().of(r.dog_type).fields.at(1).type->method_table == r.list_of_int);
  CHECK(memory.seen() == 0);
  const auto locals = view.objects.finder().locals(locals_of_dogs, {.module = r.app});
  CHECK(locals.at(0)->method_table == list_of_dog);
  CHECK(memory.seen() == 1);
  // No list of lists has been loaded; nothing is looked at twice.
  CHECK(view.objects.finder().locals(locals_of_dogs + 1, {.module = r.app}).at(0)->method_table == 0);
  CHECK(memory.seen() == 1);
}

TEST_CASE("a structure that is only a field has the layout that all share whose arguments are references",
          "[objects]") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    ObjectRuntime r(platform);
    constexpr std::uint32_t value_category = 0x0004'0000, rid = 8; // Nullable, which serves as any structure
    const Address open = r.runtime.type({.module = r.core_lib,
                                         .rid = rid,
                                         .category = value_category,
                                         .generic = MethodTable::Generic::definition});
    r.map_types(r.core_lib, {{3, r.string_type}, {rid, open}});
    const Address shared = r.runtime.type({.module = r.core_lib,
                                           .rid = rid,
                                           .category = value_category,
                                           .generic = MethodTable::Generic::exact,
                                           .arguments = {r.canon_type}});
    const Address entry = r.runtime.target.record("TypeHashEntry", {{"Value", shared}, {"Next", 1}});
    const Address buckets = r.memory.allocate(4 * std::size_t{r.runtime.pointer()});
    r.memory.at(buckets).pointer(Address{1}).pointer(Address{0}).pointer(Address{1}).pointer(entry);
    r.runtime.target.set(r.core_lib, "Module", "AvailableTypeParams",
                         r.runtime.target.record("EETypeHashTable", {{"Buckets", buckets}, {"Count", 1}}));
    ObjectView view(r);
    // A method that returns it, of string, of int[] and of int.
    const auto returned = [&](const Bytes& argument) {
      Bytes bytes = bytes_of({0, 0, 0x15, 0x11, rid << 2, 1});
      append(bytes, argument);
      SignatureReader reader(bytes);
      return view.objects.finder().method(reader, {.module = r.core_lib}).return_type;
    };
    for (const Bytes& reference : {bytes_of({0x0e}), bytes_of({0x1d, 0x08})}) {
      const TypeUsePtr type = returned(reference);
      CHECK(type->kind == TypeUse::Kind::value);
      CHECK(type->method_table == shared);
      CHECK(format_type(*type->name) ==
            (reference.size() == 1 ? "System.Nullable<string>" : "System.Nullable<int[]>"));
    }
    CHECK(returned(bytes_of({0x08}))->method_table == 0);
  }
}

TEST_CASE("a field is looked for once in each type", "[objects]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  Address base = r.object_type;
  const auto derive = [&](Address type, Address from) {
    r.runtime.target.set(type, "MethodTable", "ParentMethodTable", from);
  };
  for (unsigned i = 0; i < 250; ++i) {
    const Address type = r.runtime.type({.module = r.app, .rid = 5});
    r.shape(type, 0, 0, {});
    derive(type, base);
    base = type;
  }
  derive(r.animal_type, base);
  ObjectView view(r);
  const TypeLayout& dog = view.objects.layouts().of(r.dog_type);
  const TypeLayout& animal = view.objects.layouts().of(r.animal_type);
  CHECK(view.objects.field_of(dog, "Place") == dog.field("<Place>k__BackingField"));
  CHECK(view.objects.field_of(dog, "Place") != nullptr);
  CHECK(view.objects.field_of(dog, "Name") == animal.field("Name"));
  CHECK(view.objects.field_of(animal, "Name") == animal.field("Name"));
  CHECK(view.objects.field_of(animal, "Place") == nullptr);
  // Were all base types looked through each time, this would take minutes.
  constexpr unsigned often = 100'000;
  unsigned without = 0;
  for (unsigned i = 0; i < often; ++i)
    if (view.objects.field_of(dog, "Colour") == nullptr) ++without;
  CHECK(without == often);

  // A base type that cannot be read.
  derive(r.animal_type, 0x10);
  CountingReader reads(r.memory);
  ObjectView damaged(r, reads);
  const TypeLayout& other = damaged.objects.layouts().of(r.dog_type);
  CHECK(damaged.objects.field_of(other, "Friend") != nullptr);
  const auto ask = [&] { return fault_of([&] { damaged.objects.field_of(other, "Colour"); }); };
  CHECK(ask());
  const std::uint64_t before = reads.reads();
  CHECK(ask());
  CHECK(reads.reads() == before);
}

TEST_CASE("the names of an enumeration's values are in order", "[objects]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  ObjectView view(r);
  const TypeLayout& access = view.objects.layouts().of(r.access_type);
  const auto& names = view.objects.enumerators_of(access);
  REQUIRE(names.size() == 3);
  CHECK(names[0]->name == "Write");
  CHECK(names[1]->name == "Read");
  CHECK(names[2]->name == "None");
  CHECK(&view.objects.enumerators_of(access) == &names);
}

TEST_CASE("the layout of classes, values and enumerations", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      TypeLayouts& layouts = view.objects.layouts();
      const unsigned p = platform.pointer_size;

      const TypeLayout& point = layouts.of(r.point_type);
      CHECK(point.kind == TypeLayout::Kind::value);
      CHECK(point.text == "Ns.Point");
      CHECK(point.size == 8);
      REQUIRE(point.fields.size() == 2);
      CHECK(point.fields[1].name == "Y");
      CHECK(point.fields[1].offset == 4);
      CHECK(point.fields[1].type->number == ElementType::i4);

      const TypeLayout& dog = layouts.of(r.dog_type);
      CHECK(dog.problem.empty());
      CHECK(dog.size == 4 * p + 16);
      CHECK(dog.table.parent == r.animal_type);
      REQUIRE(dog.fields.size() == 4); // in the order of their places
      CHECK(dog.fields[0].name == "Friend");
      CHECK(dog.fields[0].offset == p);
      CHECK(dog.fields[0].type->method_table == r.animal_type);
      CHECK(dog.fields[1].name == "Scores");
      CHECK(dog.fields[1].type->method_table == r.list_of_int); // found among the instances
      CHECK(dog.fields[2].type->method_table == r.point_type);
      CHECK(dog.fields[3].type->method_table == r.date_type); // by name: this module has not loaded it
      CHECK(layouts.size_of(*dog.fields[3].type) == 8);

      const TypeLayout& animal = layouts.of(r.animal_type);
      REQUIRE(animal.fields.size() == 3);
      CHECK(animal.size == 2 * p);
      CHECK(animal.fields[1].name == "Made");
      CHECK(animal.fields[1].address == Address{0x60'0010});
      CHECK(animal.fields[2].address == Address{0x50'0018});
      CHECK_FALSE(animal.fields[2].boxed);
      CHECK(animal.field("Name") != nullptr);
      CHECK(animal.field("Made") == nullptr); // static

      const TypeLayout& list = layouts.of(r.list_of_int);
      REQUIRE(list.fields.size() == 2);
      CHECK(list.text == "System.Collections.Generic.List<int>");
      CHECK(list.fields[0].type->kind == TypeUse::Kind::array);
      CHECK(list.fields[0].type->element->number == ElementType::i4);

      const TypeLayout& access = layouts.of(r.access_type);
      CHECK(access.kind == TypeLayout::Kind::enumeration);
      CHECK(access.flags);
      REQUIRE(access.enumerators.size() == 3);
      CHECK(access.enumerators[2].name == "Write");
      CHECK(access.enumerators[2].value == 2);
      CHECK_FALSE(layouts.of(r.color_type).flags);

      // Objects without fields are as large as the smallest object.
      CHECK(layouts.of(r.object_type).size == p);
      CHECK(fault_of([&] { layouts.of(r.point_type + 8); }));
    }
  }
}

TEST_CASE("strings as text", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      ObjectReader& objects = view.objects;
      CHECK(objects.describe_object(0) == "null");
      CHECK(objects.describe_object(r.string(u"")) == "\"\"");
      CHECK(objects.describe_object(r.string(u"äöü €\n\"")) == "\"äöü €\\n\\\"\"");
      CHECK(objects.describe_object(r.string(std::u16string(1, 0xD800) + u"x")) == "\"\xEF\xBF\xBDx\"");
      CHECK(objects.describe_object(r.string(u"abcdef"), {.string_units = 3}) == "\"abc\"... (6 characters)");
      // Not between the halves of one character.
      CHECK(objects.describe_object(r.string(u"ab\U0001F600"), {.string_units = 3}) ==
            "\"ab\"... (4 characters)");
      const Address cut = r.string(u"abc");
      r.memory.erase(r.fields_of(cut) + 6, 6);
      CHECK_THAT(objects.describe_object(cut), Catch::StartsWith("<"));
      CHECK(
          objects.describe_object(r.string(std::u16string(5'000, u'x')), {.string_units = 10'000, .text = 50})
              .size() == 53);
    }
  }
}

TEST_CASE("arrays as text", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      ObjectReader& objects = view.objects;
      const unsigned p = platform.pointer_size;
      const Address ints = r.array(r.ints_type, 3, 12);
      r.memory.at(r.elements_of(ints)).u32(1).u32(0xffff'fffe).u32(3);
      CHECK(objects.describe_object(ints) == "int[3] {1, -2, 3}");
      CHECK(objects.describe_object(ints, {.elements = 2}) == "int[3] {1, -2, ...}");
      CHECK(objects.describe_object(r.array(r.ints_type, 0, 0)) == "int[0]");

      const Address grid = r.array(r.grid_type, 4, 32);
      r.memory.at(r.elements_of(grid)).u32(2).u32(2).u32(0).u32(0).u32(1).u32(2).u32(3).u32(4);
      CHECK(objects.describe_object(grid) == "int[2,2] {{1, 2}, {3, 4}}");
      r.memory.at(r.elements_of(grid)).u32(0xffff'ffff).u32(0xffff'ffff);
      CHECK_THAT(objects.describe_object(grid), Catch::Contains("<"));

      // An array that holds itself.
      const Address mixed = r.array(r.objects_type, 3, 3 * p);
      const Address boxed = r.instance(r.int_type, p);
      r.memory.at(r.fields_of(boxed)).u32(42);
      r.memory.at(r.elements_of(mixed)).pointer(boxed).pointer(mixed).pointer(Address{0});
      CHECK(objects.describe_object(mixed) == "object[3] {42, {object[]}, null}");

      // A length that lies: what can be read, then why not.
      const Address torn = r.array(r.ints_type, 0x7fff'ffff, 4);
      CHECK_THAT(objects.describe_object(torn), Catch::StartsWith("int[2147483647] {0, <"));
    }
  }
}

TEST_CASE("values and objects as text", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      ObjectReader& objects = view.objects;
      const unsigned p = platform.pointer_size;
      const auto use = [&](Address type) { return *objects.finder().of_handle(type); };

      const Address point = r.memory.allocate(8);
      r.memory.at(point).u32(1).u32(0xffff'fffe);
      CHECK(objects.describe_value(use(r.point_type), point) == "{X = 1, Y = -2}");
      const Address box = r.instance(r.point_type, 8);
      r.memory.at(r.fields_of(box)).u32(3).u32(4);
      CHECK(objects.describe_object(box) == "(Ns.Point) {X = 3, Y = 4}");

      const Address word = r.memory.allocate(8);
      for (const auto& [value, text] : {std::pair{0u, "Red"}, {2u, "Blue"}, {77u, "77"}}) {
        r.memory.at(word).u32(value);
        CHECK(objects.describe_value(use(r.color_type), word) == text);
      }
      for (const auto& [value, text] :
           {std::pair{0u, "None"}, {1u, "Read"}, {3u, "Read, Write"}, {5u, "5"}}) {
        r.memory.at(word).u32(value);
        CHECK(objects.describe_value(use(r.access_type), word) == text);
      }
      r.memory.at(word).u16('\'');
      CHECK(objects.describe_value(use(r.char_type), word) == "'\\''");
      r.memory.at(word).u64(0x489f'7ff5'f7b5'8000);
      CHECK(objects.describe_value(use(r.date_type), word) == "1970-01-01 00:00:00 UTC");
      r.memory.at(word).u32(0).u32(5);
      CHECK(objects.describe_value(use(r.nullable_int), word) == "null");
      r.memory.at(word).u8(1);
      CHECK(objects.describe_value(use(r.nullable_int), word) == "5");

      CHECK(objects.describe_object(make_dog(r, 0)) == "{Ns.Dog}");
      const Address list = r.instance(r.list_of_int, p + 4);
      const Address items = r.array(r.ints_type, 4, 16);
      r.memory.at(r.elements_of(items)).u32(5).u32(6);
      r.memory.at(r.fields_of(list)).pointer(items).u32(2);
      CHECK(objects.describe_object(list) == "Count = 2 {5, 6}");
      r.memory.at(r.fields_of(list)).pointer(items).u32(5);
      CHECK_THAT(objects.describe_object(list), Catch::StartsWith("Count = 5<a list with more elements"));
      r.memory.at(r.fields_of(list)).pointer(Address{0}).u32(0);
      CHECK(objects.describe_object(list) == "Count = 0");

      const Address exception = r.instance(r.exception_type, p);
      r.memory.at(r.fields_of(exception)).pointer(r.string(u"out of coffee"));
      CHECK(objects.describe_object(exception) == "{System.Exception: \"out of coffee\"}");

      // Addresses that are no objects.
      CHECK_THAT(objects.describe_object(point), Catch::StartsWith("<"));
      CHECK_THAT(objects.describe_object(box + 1), Catch::StartsWith("<"));
      CHECK_THAT(objects.describe_object(0xdead'0000), Catch::StartsWith("<"));
    }
  }
}

TEST_CASE("the collector's marks are no part of an object's type", "[objects]") {
  ObjectRuntime r({});
  ObjectView view(r);
  const Address text = r.string(u"marked");
  r.memory.at(text).pointer(r.string_type | 1);
  CHECK(view.objects.describe_object(text) == "\"marked\"");
}

TEST_CASE("a failing read never makes another value", "[objects][faults]") {
  for (const Platform& platform : all_platforms()) {
    for (const bool stays : {false, true}) {
      DYNAMIC_SECTION(to_string(platform) << (stays ? ", all later reads fail too" : ", one read fails")) {
        ObjectRuntime r(platform);
        const unsigned p = platform.pointer_size;
        const Address list = r.instance(r.list_of_int, p + 4);
        const Address items = r.array(r.ints_type, 2, 8);
        r.memory.at(r.elements_of(items)).u32(5).u32(6);
        r.memory.at(r.fields_of(list)).pointer(items).u32(2);
        const Address box = r.instance(r.color_type, p);
        r.memory.at(r.fields_of(box)).u32(2);
        for (const auto& [object, whole] : std::vector<std::pair<Address, std::string>>{
                 {list, "Count = 2 {5, 6}"}, {box, "(Ns.Color) Blue"}, {make_dog(r, 0), "{Ns.Dog}"}}) {
          for_each_failing_read(
              r.memory,
              [&](MemoryReader& memory, std::uint64_t k) {
                CAPTURE(whole, k);
                ObjectView view(r, memory);
                const std::string text = view.objects.describe_object(object);
                if (k == 0) {
                  CHECK(text == whole);
                } else if (text != whole) {
                  // It says that something is missing: a fault in angle brackets, a name that is not known,
                  // the number for the enumerator.
                  const bool told = text.find('<') != std::string::npos ||
                                    text.find('?') != std::string::npos ||
                                    text.find("app.dll") != std::string::npos || text == "(Ns.Color) 2";
                  CAPTURE(text);
                  CHECK(told);
                }
              },
              stays);
        }
      }
    }
  }
}
