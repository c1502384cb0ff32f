#include "core/describe/named_types.h"
#include "core/dwarf/elf_module_writer.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace clr;
using namespace clr::test;

namespace {

const DebugField* global(const DebugModule& module, std::string_view name) {
  const auto found = std::ranges::find(module.globals, name, &DebugField::name);
  return found == module.globals.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("types with colons are aliases in namespaces", "[publish][variables]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      Omissions missing;
      const NamedType named[] = {
          {{"Ns", "Dog"}, r.dog_type}, {{"Ns", "Color"}, r.color_type}, {{"Alone"}, r.point_type}};
      DebugModule module = named_types_module(view.objects.layouts(), named, true, missing);
      CHECK(module.globals.empty());
      REQUIRE(module.aliases.size() == 3);
      CHECK(module.aliases[2].scope.empty());
      CHECK(module.aliases[0].scope == std::vector<std::string>{"Ns"});
      CHECK(module.aliases[0].name == "Dog");
      // The class itself, and not a reference to it: it is to be cast to, and measured.
      CHECK(module.types[module.aliases[0].type].kind == DebugType::Kind::object);
      CHECK(module.types[module.aliases[0].type].fields.size() == 5);
      CHECK(module.types[module.aliases[1].type].kind == DebugType::Kind::enumeration);
      if (platform.pointer_size != 8) continue;
      module.platform.cpu = Cpu::x64;
      CHECK(write_elf_module(module).size() > 500);
    }
  }
}

TEST_CASE("static fields with dots are variables", "[publish][variables]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  ObjectView view(r);
  Omissions missing;
  const NamedType named[] = {{{"Ns", "Animal"}, r.animal_type}};
  const DebugModule module = named_types_module(view.objects.layouts(), named, false, missing);
  CHECK(module.aliases.empty());
  std::size_t statics = 0;
  for (const FieldLayout& field : view.objects.layouts().of(r.animal_type).fields) {
    if (!field.is_static || !field.address) continue;
    ++statics;
    const DebugField* const whole = global(module, "Ns.Animal." + field.name);
    REQUIRE(whole != nullptr);
    CHECK_FALSE(whole->static_boxed);
    if (!field.boxed) CHECK(whole->static_address == field.address);
  }
  CHECK(statics >= 2);
  CHECK(module.globals.size() <= statics);
  const std::vector<std::byte> file = write_elf_module(module);
  CHECK(std::string_view(reinterpret_cast<const char*>(file.data()), file.size()).find("Ns.Animal.Made") !=
        std::string_view::npos);
}

TEST_CASE("every loaded type has a name for expressions", "[publish][variables]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      Omissions missing;
      const std::vector<NamedType> named = named_types(view.objects.finder(), missing);
      CHECK(missing.empty());
      const auto path_of = [&](Address table) {
        const auto found = std::ranges::find(named, table, &NamedType::method_table);
        return found == named.end() ? std::vector<std::string>() : found->path;
      };
      CHECK(path_of(r.dog_type) == std::vector<std::string>{"Ns", "Dog"});
      CHECK(path_of(r.list_of_int) ==
            std::vector<std::string>{"System", "Collections", "Generic", "List_int_"});
      const DebugModule module = named_types_module(view.objects.layouts(), named, true, missing);
      CHECK(module.aliases.size() == named.size());
    }
  }
}

TEST_CASE("a name that two modules have is no name", "[publish][variables]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  const Address twin = r.runtime.type({.module = r.app, .rid = 6});
  r.map_types(r.app, {{5, r.animal_type}, {6, r.dog_type}, {7, twin}});
  ObjectView view(r);
  Omissions missing;
  const std::vector<NamedType> named = named_types(view.objects.finder(), missing);
  const auto has = [&](const std::vector<std::string>& path) {
    return std::ranges::find(named, path, &NamedType::path) != named.end();
  };
  CHECK(has({"Ns", "Animal"}));
  CHECK_FALSE(has({"Ns", "Dog"}));
  REQUIRE(missing.groups().size() == 1);
  CHECK(missing.groups().front().examples.front().of == "Ns.Dog");
  CHECK(missing.sentences() ==
        std::vector<std::string>{"1 variable or type is not described: several have the same name "
                                 "while reading names of loaded types (1)"});
}

TEST_CASE("loaded types that cannot be read are told of", "[publish][variables]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  r.map_types(r.app, {{5, r.animal_type}, {6, 0x10}});
  ObjectView view(r);
  Omissions missing;
  CHECK_FALSE(named_types(view.objects.finder(), missing).empty());
  CHECK(missing.sentences() ==
        std::vector<std::string>{"1 variable or type is not described: memory is missing "
                                 "while reading loaded types (1)"});
}
