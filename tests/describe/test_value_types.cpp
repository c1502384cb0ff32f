#include "core/describe/value_types.h"
#include "core/dwarf/elf_module_writer.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string_view>

using namespace clr;
using namespace clr::test;

TEST_CASE("types of values alone are a module in which each has a variable", "[publish][variables]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      TypeFinder& finder = view.objects.finder();
      Omissions missing;
      const TypeUsePtr uses[] = {finder.of_handle(r.point_type), unknown_use(), finder.of_handle(r.dog_type)};
      DebugModule module = value_types_module(view.objects.layouts(), uses, missing);
      REQUIRE(module.globals.size() == 3);
      CHECK(module.globals[2].name == value_type_name(2));
      CHECK(module.types[module.globals[0].type].name == "Ns.Point");
      CHECK(module.types[module.globals[0].type].fields.size() == 2);
      // The class behind the reference is a name: its parts are looked at when it is shown.
      const DebugType& reference = module.types[module.globals[2].type];
      CHECK(reference.kind == DebugType::Kind::reference);
      const DebugType& dog = module.types[reference.element];
      CHECK(dog.name == "Ns.Dog");
      REQUIRE(dog.fields.size() == 1);
      CHECK(dog.fields[0].base);

      if (platform.pointer_size != 8) continue;
      module.platform.cpu = Cpu::x64;
      const std::vector<std::byte> file = write_elf_module(module);
      const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
      CHECK(text.find(value_type_name(0)) != std::string_view::npos);
      CHECK(text.find(value_type_name(2)) != std::string_view::npos);
      CHECK(text.find(value_type_name(3)) == std::string_view::npos);
    }
  }
}
