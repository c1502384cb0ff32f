// Layouts of types that a damaged target makes large.
#include "core/memory/counting_reader.h"
#include "core/objects/type_layout.h"
#include "tests/objects/object_runtime.h"

#include <catch2/catch.hpp>

#include <string>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t enum_category = 0x0006'0000, literal = 0x50;

Address module_of(ObjectRuntime& r, const MetadataBuilder& metadata) {
  return r.runtime.module({.path = "/srv/large.dll", .simple_name = "large", .metadata = metadata.build()});
}

} // namespace

TEST_CASE("a type of more fields than the runtime allows has none", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  r.runtime.overlay(r.runtime.ee_class_of(r.point_type), "EEClass",
                    {{"NumInstanceFields", 40'000}, {"NumStaticFields", 40'000}});
  ObjectView view(r);
  const TypeLayout& layout = view.objects.layouts().of(r.point_type);
  CHECK(layout.fields.empty());
  CHECK_THAT(layout.problem, Catch::Contains("a type of 80000 fields"));
}

TEST_CASE("fields of one signature share their type", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  MetadataBuilder metadata;
  metadata.assembly("large");
  metadata.type("Ns", "Pair");
  const std::uint32_t array = metadata.blob(bytes_of({0x06, 0x1d, 0x08}));
  const std::uint32_t other = metadata.blob(bytes_of({0x06, 0x1d, 0x08}));
  for (const std::uint32_t signature : {array, array, other})
    metadata.add(MetadataTable::field, {0, metadata.string("F"), signature});
  const unsigned p = r.runtime.pointer();
  const Address type = r.runtime.type({.module = module_of(r, metadata), .rid = 2});
  r.shape(type, 3 * p, 0, {{1, 0, 0x1d}, {2, p, 0x1d}, {3, 2 * p, 0x1d}});
  ObjectView view(r);
  const TypeLayout& layout = view.objects.layouts().of(type);
  REQUIRE(layout.fields.size() == 3);
  CHECK(layout.fields[0].type == layout.fields[1].type);
  CHECK(layout.fields[0].type != layout.fields[2].type);
  CHECK(layout.fields[2].type->kind == TypeUse::Kind::array);
}

TEST_CASE("the names of an enumeration's values have a limit of bytes", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  MetadataBuilder metadata;
  metadata.assembly("large");
  metadata.type("Ns", "E");
  const std::uint32_t number = metadata.blob(bytes_of({0x06, 0x08}));
  const std::uint32_t value = metadata.blob(bytes_of({1, 0, 0, 0}));
  constexpr std::size_t length = 4'000, count = TypeLayouts::max_enumerator_text / length;
  const std::uint32_t name = metadata.string(std::string(length, 'n')); // one text
  metadata.add(MetadataTable::field, {0, metadata.string("value__"), number});
  for (std::size_t i = 0; i < count + 100; ++i) {
    const std::uint32_t rid = metadata.add(MetadataTable::field, {literal, name, number});
    metadata.add(MetadataTable::constant, {0x08, 0, rid << 2, value});
  }
  const Address type =
      r.runtime.type({.module = module_of(r, metadata), .rid = 2, .category = enum_category});
  r.shape(type, 4, 0, {{1, 0, 0x08}});
  r.runtime.overlay(r.runtime.ee_class_of(type), "EEClass", {{"InternalCorElementType", 0x08}});
  ObjectView view(r);
  const TypeLayout& layout = view.objects.layouts().of(type);
  CHECK(layout.enumerators.size() == count);
  CHECK(layout.problem == "an enumeration whose names are too long");
}

TEST_CASE("all layouts share a room of memory", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  ObjectView view(r);
  TypeLayouts& layouts = view.objects.layouts();
  CHECK(layouts.of(r.point_type).fields.size() == 2);
  CHECK_THROWS_AS(layouts.keep(TypeLayouts::max_all_bytes), Error);
  CHECK(layouts.of(r.point_type).fields.size() == 2); // it is kept
  CHECK_THROWS_AS(layouts.of(r.dog_type), Error);
  layouts.forget();
  CHECK(layouts.of(r.dog_type).fields.size() == 4);
}

TEST_CASE("types that cannot be read take no room, however often they are asked for", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  ObjectView view(r);
  TypeLayouts& layouts = view.objects.layouts();
  layouts.keep(TypeLayouts::max_all_bytes - 64 * 1024);
  for (unsigned i = 0; i < 1'000; ++i) CHECK_THROWS_AS(layouts.of(0x10), Error);
  CHECK(layouts.of(r.dog_type).fields.size() == 4);
}

TEST_CASE("the names of a tuple's elements are read once", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  CountingReader reads(r.memory);
  ObjectView view(r, reads);
  const std::uint32_t field = token_of(MetadataTable::field, 13);
  CHECK(view.objects.layouts().tuple_names_of(r.app, field).empty());
  const std::uint64_t before = reads.reads();
  CHECK(view.objects.layouts().tuple_names_of(r.app, field).empty());
  CHECK(reads.reads() == before);
}
