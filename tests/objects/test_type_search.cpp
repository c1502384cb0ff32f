#include "core/objects/type_search.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("the fields of a module's types are looked at once", "[objects]") {
  MetadataBuilder builder;
  constexpr std::uint32_t types = 8, fields = 10;
  for (std::uint32_t i = 0; i < fields; ++i)
    builder.add(MetadataTable::field, {0, builder.string("f"), builder.blob(bytes_of({6, 8}))});
  for (std::uint32_t i = 0; i < types; ++i) builder.type("Ns", "T");
  const auto read = [&](const auto& each) {
    const Bytes bytes = builder.build();
    MemoryBuilder memory;
    memory.write(0x1000, bytes);
    const Metadata metadata(ByteRange(memory, 0x1000, bytes.size()));
    each(metadata);
  };
  // Row 1 is <Module>. Three types have fields, one after the other.
  const std::uint32_t begins[] = {1, 1, 4, 4, 8, 11, 11, 11, 11};
  for (std::uint32_t rid = 1; rid <= types + 1; ++rid)
    builder.set(MetadataTable::type_def, rid, 4, begins[rid - 1]);
  read([&](const Metadata& metadata) {
    FieldRanges ranges;
    for (unsigned round = 0; round < 2; ++round) {
      std::uint32_t seen = 0;
      for (std::uint32_t rid = 1; rid <= types + 1; ++rid) {
        const auto [first, last] = ranges.of(metadata, rid);
        seen += last - first;
      }
      CHECK(seen == fields);
    }
  });
  // Every other one has all of them.
  for (std::uint32_t rid = 1; rid <= types + 1; ++rid)
    builder.set(MetadataTable::type_def, rid, 4, rid % 2 == 0 ? 1 : fields + 1);
  read([&](const Metadata& metadata) {
    FieldRanges ranges;
    for (std::uint32_t rid = 1; rid <= 3; ++rid) CHECK_FALSE(fault_of([&] { ranges.of(metadata, rid); }));
    const auto fault = fault_of([&] { ranges.of(metadata, 4); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::corrupt);
  });
}

TEST_CASE("types are searched for by their names, definitions and instances", "[objects]") {
  ObjectRuntime r({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64});
  ObjectView view(r);
  std::map<Address, std::string> found;
  search_types(view.objects.finder(),
               {.wanted = [](const Metadata&, std::uint32_t, const std::string& text,
                             bool generic) { return generic || text.starts_with("Ns."); },
                .visit =
                    [&](Address table, const std::string& text) {
                      found[table] = text;
                      return true;
                    }});
  CHECK(found[r.dog_type] == "Ns.Dog");
  CHECK(found[r.color_type] == "Ns.Color");
  CHECK(found.contains(r.list_of_int));
  CHECK(found[r.list_of_int].empty());
  CHECK_FALSE(found.contains(r.string_type));
}
