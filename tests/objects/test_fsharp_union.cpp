#include "core/objects/fsharp_union.h"
#include "core/objects/value_parts.h"
#include "tests/objects/union_types.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;
using namespace clr::test;

TEST_CASE("a union of F# is its case with the fields of that case", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      UnionTypes types(r);
      ObjectView view(r);
      std::vector<std::string> texts, parts;
      for (const Address object : union_samples(types)) {
        texts.push_back(view.objects.describe_object(object));
        ValueParts all = ValueParts::of_object(view.objects, object);
        for (std::uint64_t i = 0; i < all.count(); ++i) parts.push_back(all.at(view.objects, i)->name);
        parts.emplace_back("|");
      }
      CHECK(texts == std::vector<std::string>{"Circle(5)", "Rect(2, 3)", "Empty", "(Ns.Reply) Good(7)",
                                              "(Ns.Reply) Bad(9)"});
      CHECK(parts ==
            std::vector<std::string>{"radius", "|", "width", "height", "|", "|", "value", "|", "Item1", "|"});
    }
  }
}

TEST_CASE("a structure of a union with the number of no case is shown by its fields", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  UnionTypes types(r);
  ObjectView view(r);
  ValueParts parts = ValueParts::of_object(view.objects, types.make(types.reply, 2, {7, 9}));
  REQUIRE(parts.count() == 3);
  CHECK(parts.at(view.objects, 0)->name == "_tag");
}

TEST_CASE("the names of a union's cases have a limit of bytes", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  MetadataBuilder metadata;
  metadata.heap_widths.strings = 4;
  metadata.assembly("large");
  metadata.type_ref("Microsoft.FSharp.Core", "CompilationMappingAttribute",
                    metadata.assembly_ref("FSharp.Core"));
  metadata.add(MetadataTable::member_ref,
               {1u << 3 | 1, metadata.string(".ctor"), metadata.blob(bytes_of({0x20, 1, 0x01, 0x08}))});
  const std::uint32_t rid = metadata.type("Ns", "Large");
  constexpr unsigned sum = 1; // SourceConstructFlags
  metadata.add(MetadataTable::custom_attribute,
               {rid << 5 | 3, 1u << 3 | 3, metadata.blob(bytes_of({1, 0, sum, 0, 0, 0, 0, 0}))});
  constexpr std::size_t length = 4'000, count = 500; // bytes of a name, and names
  metadata.method("NewLong", bytes_of({0x00, 0, 0x01}));
  for (std::uint32_t i = 1; i <= count; ++i)
    metadata.add(MetadataTable::param, {0, i, metadata.string(std::to_string(i) + std::string(length, 'n'))});
  metadata.method("NewLast", bytes_of({0x00, 0, 0x01}));
  const Address module =
      r.runtime.module({.path = "/srv/large.dll", .simple_name = "large", .metadata = metadata.build()});
  const Address type = r.runtime.type({.module = module, .rid = rid});
  r.shape(type, 4, 0, {});
  ObjectView view(r);
  const auto found = read_union_type(view.objects, view.objects.layouts().of(type));
  REQUIRE(found);
  REQUIRE(found->fields.size() == 1);
  const std::size_t names = found->fields.at("Long").names.size() / 2; // each with "_" and without
  CHECK(names > 300);
  CHECK(names <= UnionType::max_names / (3 * length));
}
