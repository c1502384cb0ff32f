// Types of a synthetic runtime as a debugger is told them.
#include "core/describe/captured_variables.h"
#include "core/describe/debug_types.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

struct Made {
  Made(ObjectRuntime& of, MemoryReader& memory, bool users = true)
      : view(of, memory), types(view.objects.layouts(), module, [users](Address) { return users; }) {
    module.platform = of.runtime.target.platform();
  }
  explicit Made(ObjectRuntime& of, bool users = true) : Made(of, of.memory, users) {}

  DebugTypeIndex use(Address type) {
    const DebugTypeIndex index = types.of(*view.objects.finder().of_handle(type));
    types.complete();
    return index;
  }
  const DebugType& of(Address type) { return module.types.at(use(type)); }
  const DebugType& object(Address type) { return module.types.at(of(type).element); }
  const DebugField* field(const DebugType& type, const std::string& name) {
    for (const DebugField& f : type.fields)
      if (f.name == name) return &f;
    return nullptr;
  }

  DebugModule module;
  ObjectView view;
  DebugTypes types;
};

} // namespace

TEST_CASE("values, enumerations and objects become types", "[publish][variables]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      Made made(r);
      const unsigned p = platform.pointer_size;
      const DebugType point = made.of(r.point_type);
      CHECK(point.kind == DebugType::Kind::structure);
      CHECK(point.name == "Ns.Point");
      CHECK(point.size == 8);
      REQUIRE(point.fields.size() == 2);
      CHECK(point.fields[1].name == "Y");
      CHECK(point.fields[1].offset == 4);
      CHECK(made.module.types[point.fields[1].type].name == "int");

      const DebugType dog = made.object(r.dog_type);
      CHECK(made.of(r.dog_type).kind == DebugType::Kind::reference);
      CHECK(dog.kind == DebugType::Kind::object);
      REQUIRE(dog.fields.size() == 5);
      CHECK(dog.fields[0].base);
      const DebugType& animal = made.module.types[dog.fields[0].type];
      CHECK(animal.name == "Ns.Animal");
      CHECK(animal.size == 2 * p);
      CHECK(made.field(dog, "Friend")->offset == 2 * p);
      const DebugField* place = made.field(dog, "Place"); // the property's own name
      REQUIRE(place != nullptr);
      CHECK(place->offset == 4 * p);
      CHECK(made.module.types[place->type].name == "Ns.Point");
      CHECK(made.field(animal, "Made")->static_address == Address{0x60'0010});
      const DebugType& object = made.module.types[animal.fields[0].type];
      CHECK(object.name == "System.Object");
      REQUIRE(object.fields.size() == 1);
      CHECK(object.fields[0].artificial);

      // 77 is a number, not a union of the names, in an enumeration that is no set of flags.
      const DebugType color = made.of(r.color_type);
      CHECK(color.kind == DebugType::Kind::enumeration);
      REQUIRE(color.enumerators.size() == 3);
      CHECK(color.enumerators[0].name == "3");
      CHECK(color.enumerators[0].value == 3);
      CHECK(color.enumerators[2].name == "Blue");
      CHECK(made.of(r.access_type).enumerators.size() == 3);

      const DebugType ints = made.object(r.ints_type);
      CHECK(ints.name == "int[]");
      REQUIRE(ints.fields.size() == 3);
      CHECK(ints.fields[1].name == "Length");
      CHECK(ints.fields[1].offset == p);
      CHECK(ints.fields[2].offset == 2 * p);
      const DebugType grid = made.object(r.grid_type);
      CHECK(made.field(grid, "Lengths")->offset == 2 * p);
      CHECK(made.field(grid, "LowerBounds")->offset == 2 * p + 8);
      CHECK(made.field(grid, "Items")->offset == 2 * p + 16);
      CHECK(made.object(r.string_type).name == "System.String");
    }
  }
}

TEST_CASE("each type is made once, and far ones of other modules have a name only", "[publish][variables]") {
  ObjectRuntime r({});
  Made made(r);
  const DebugTypeIndex dog = made.use(r.dog_type);
  const std::size_t count = made.module.types.size();
  CHECK(made.use(r.dog_type) == dog);
  CHECK(made.module.types.size() == count);

  Made framework(r, false);
  const DebugType shown = framework.object(r.dog_type);
  const DebugType& list =
      framework.module.types[framework.module.types[framework.field(shown, "Scores")->type].element];
  CHECK(list.name == "System.Collections.Generic.List<int>");
  CHECK(framework.field(list, "_size") != nullptr); // one reference away
}

TEST_CASE("types with reads that fail refer to nothing that is not there", "[publish][variables][faults]") {
  ObjectRuntime r({});
  const auto whole = [&](MemoryReader& memory) {
    Made made(r, memory);
    made.use(r.dog_type);
    made.use(r.grid_type);
    for (const DebugType& type : made.module.types) {
      if (type.element != no_debug_type) CHECK(type.element < made.module.types.size());
      for (const DebugField& field : type.fields) {
        CHECK(field.type < made.module.types.size());
        if (!field.static_address) CHECK(field.offset <= type.size);
      }
    }
    return made.module.types.size();
  };
  for (const bool stays : {false, true})
    for_each_failing_read(
        r.memory,
        [&](MemoryReader& memory, std::uint64_t k) {
          CAPTURE(k);
          whole(memory);
        },
        stays);
}

TEST_CASE("names that compilers give", "[publish][variables]") {
  CHECK(source_name_of_field("<Count>k__BackingField") == "Count");
  CHECK(source_name_of_field("<>k__BackingField") == "<>k__BackingField");
  CHECK(source_name_of_field("count") == "count");
  const auto named = [](const char* name) {
    TypeName type{.shape = TypeShape::definition};
    type.chain = {"Program", name};
    return type;
  };
  CHECK(is_closure(named("<>c__DisplayClass3_0")));
  CHECK_FALSE(is_closure(named("<>c")));
  CHECK_FALSE(is_closure(named("Closure")));
  CHECK(is_state_machine(named("<Run>d__4")));
  CHECK(is_state_machine(named("<<Main>$>d__0")));
  CHECK_FALSE(is_state_machine(named("<>c__DisplayClass3_0")));
  CHECK(is_closure_local("CS$<>8__locals0"));
  CHECK_FALSE(is_closure_local("locals"));
}
