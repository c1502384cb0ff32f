// Types of a synthetic runtime as a debugger is told them.
#include "core/describe/captured_variables.h"
#include "core/describe/debug_types.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"
#include "tests/support/out_of_memory_reader.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <new>

using namespace clr;
using namespace clr::test;

namespace {

struct Made {
  Made(ObjectRuntime& of, MemoryReader& memory, bool users = true)
      : view(of, memory),
        types(view.objects.layouts(), module.types, missing, [users](Address) { return users; }) {
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
  Omissions missing;
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

      const DebugType buffer = made.of(r.buffer_type);
      REQUIRE(buffer.fields.size() == 1);
      const DebugType bytes = made.module.types[buffer.fields[0].type];
      CHECK(bytes.kind == DebugType::Kind::array);
      CHECK(bytes.count == 5);
      CHECK(made.module.types[bytes.element].name == "System.Byte"); // no text, as "byte" would be

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

TEST_CASE("a type that cannot be read has its reason, and memory that is out ends it all",
          "[publish][variables][faults]") {
  ObjectRuntime r({});
  const auto described = [&](MemoryReader& memory, Omissions& missing) {
    Made made(r, memory);
    std::vector<std::string> text;
    try {
      made.use(r.dog_type);
      for (const DebugType& type : made.module.types)
        text.push_back(fmt::format("{} {} {}", static_cast<int>(type.kind), type.name, type.fields.size()));
    } catch (const Error& error) {
      text.emplace_back(error.what()); // of the type's handle, before anything is described
      missing.add(OmittedPart::type, "", "the handle", error);
    }
    missing.add(made.missing);
    return text;
  };
  Omissions none;
  const std::vector<std::string> whole = described(r.memory, none);
  CHECK(none.empty());
  Omissions all;
  for_each_failing_read(r.memory, [&](MemoryReader& memory, std::uint64_t k) {
    CAPTURE(k);
    Omissions missing;
    const bool same = described(memory, missing) == whole;
    if (k == 0) CHECK((same && missing.empty()));
    all.add(missing);
  });
  const auto told = [&](OmittedPart part, OmissionCause cause, std::string_view reading) {
    for (const Omissions::Group& group : all.groups())
      if (group.part == part && group.cause == cause && group.reading == reading) return group.count;
    return std::size_t{0};
  };
  CHECK(told(OmittedPart::type, OmissionCause::memory_missing, "the layout") > 0);
  CHECK(told(OmittedPart::type, OmissionCause::memory_missing, "the name") > 0);
  CHECK(told(OmittedPart::members, OmissionCause::partial, "") > 0);
  CHECK(told(OmittedPart::type, OmissionCause::partial, "") > 0);

  OutOfMemoryReader out(r.memory, 20);
  Made made(r, out);
  CHECK_THROWS_AS(
      [&] {
        for (unsigned i = 0; i < 100; ++i) made.use(r.dog_type);
        made.use(r.grid_type);
      }(),
      std::bad_alloc);
}

TEST_CASE("variables of a closure that cannot be read have their reason", "[publish][variables][faults]") {
  ObjectRuntime r({});
  const auto all = [&](MemoryReader& memory, Omissions& missing) {
    ObjectView view(r, memory);
    const TypeUse use{.kind = TypeUse::Kind::reference,
                      .method_table = r.dog_type,
                      .name = primitive_type(ElementType::object)};
    std::size_t fields = 1'000;
    return captured_variables(view.objects.layouts(), use, missing, fields).size();
  };
  Omissions none;
  const std::size_t count = all(r.memory, none);
  CHECK(count > 2);
  CHECK(none.empty());
  std::size_t fewer = 0, unread = 0, partly = 0;
  for_each_failing_read(r.memory, [&](MemoryReader& memory, std::uint64_t k) {
    CAPTURE(k);
    Omissions missing;
    if (all(memory, missing) == count) return;
    ++fewer;
    REQUIRE(missing.groups().size() == 1);
    const Omissions::Group& group = missing.groups()[0];
    CHECK(group.part == OmittedPart::captured);
    CHECK(group.examples.at(0).of == "object");
    unread += group.cause == OmissionCause::memory_missing && group.reading == "the layout" ? 1 : 0;
    partly += group.cause == OmissionCause::partial ? 1 : 0;
  });
  CHECK(unread > 0);
  CHECK(partly > 0);
  CHECK(unread + partly == fewer);
}

TEST_CASE("closures have a limit of fields that all of them share", "[publish][variables]") {
  ObjectRuntime r({});
  ObjectView view(r, r.memory);
  const TypeUse use{.kind = TypeUse::Kind::reference,
                    .method_table = r.dog_type,
                    .name = primitive_type(ElementType::object)};
  Omissions missing;
  const auto found = [&](std::size_t& fields) {
    return captured_variables(view.objects.layouts(), use, missing, fields).size();
  };
  std::size_t fields = 1'000;
  const std::size_t whole = found(fields);
  const std::size_t looked_at = 1'000 - fields;
  CHECK(looked_at >= whole);
  fields = 2 * looked_at - 1; // the second time one is left out
  CHECK(found(fields) == whole);
  CHECK(missing.empty());
  CHECK(found(fields) <= whole);
  CHECK(fields == 0);
  CHECK(missing.count() == 1);
  CHECK(found(fields) == 0);
  REQUIRE(missing.groups().size() == 1);
  CHECK(missing.groups()[0].cause == OmissionCause::limit);
  CHECK(missing.count() == 2);
}

TEST_CASE("names that compilers give", "[publish][variables]") {
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
