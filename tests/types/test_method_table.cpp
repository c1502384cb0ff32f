#include "core/types/method_table.h"
#include "core/types/type_handle.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

ErrorKind fault_of(const MethodTables& tables, Address at) {
  try {
    tables.read(at);
  } catch (const Error& fault) {
    return fault.kind();
  }
  return ErrorKind::io;
}

} // namespace

TEST_CASE("a MethodTable is believed when its class leads back to it", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address canonical = runtime.type(
          {.module = 0x1000, .rid = 0x123, .generic = MethodTable::Generic::shared, .arguments = {0x8}});
      const Address exact = runtime.type({.module = 0x1000,
                                          .rid = 0x123,
                                          .generic = MethodTable::Generic::exact,
                                          .arguments = {0x10},
                                          .canonical = canonical});
      const Target target = runtime.target.target();
      const MethodTables tables(target);
      const MethodTable own = tables.read(canonical);
      CHECK(own.canonical == canonical);
      CHECK(own.module == 0x1000);
      CHECK(own.typedef_rid() == 0x123);
      CHECK(own.num_virtuals == 4);
      CHECK(own.num_non_virtual_slots == 2);
      const MethodTable shared = tables.read(exact);
      CHECK(shared.canonical == canonical);
      CHECK(shared.ee_class == own.ee_class);

      CHECK(fault_of(tables, 0) == ErrorKind::corrupt);
      CHECK(fault_of(tables, canonical + 2) == ErrorKind::corrupt);
      CHECK(fault_of(tables, 0x4000) == ErrorKind::memory_missing);
      // The class belongs to another type; then there is none.
      const Address stranger = runtime.type({.module = 0x1000, .rid = 1});
      runtime.target.set(stranger, "MethodTable", "EEClassOrCanonMT", own.ee_class);
      CHECK(fault_of(tables, stranger) == ErrorKind::corrupt);
      runtime.target.set(stranger, "MethodTable", "EEClassOrCanonMT", 0);
      CHECK(fault_of(tables, stranger) == ErrorKind::corrupt);
      // Canonical of a canonical: the tag leads to another tag.
      runtime.target.set(stranger, "MethodTable", "EEClassOrCanonMT", exact | 1);
      CHECK(fault_of(tables, stranger) == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("generic arguments stand in the last dictionary", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const std::vector<Address> arguments{0x1110, 0x2220, 0x3332};
      for (const unsigned inherited : {0u, 1u, 3u}) {
        const Address type = runtime.type({.module = 0x1000,
                                           .rid = 2,
                                           .generic = MethodTable::Generic::exact,
                                           .arguments = arguments,
                                           .inherited_dictionaries = inherited});
        const Target target = runtime.target.target();
        const MethodTables tables(target);
        CHECK(tables.generic_arguments(tables.read(type)) == arguments);
      }
      const Address plain = runtime.type({.module = 0x1000, .rid = 2});
      const Address lying = runtime.type(
          {.module = 0x1000, .rid = 2, .generic = MethodTable::Generic::exact, .arguments = arguments});
      const Target target = runtime.target.target();
      const MethodTables tables(target);
      CHECK(tables.generic_arguments(tables.read(plain)).empty());
      // An array's word is its element, not a dictionary; and a component size is no generic flag.
      CHECK(tables.generic_arguments(tables.read(runtime.array_of(plain))).empty());
      const MethodTable table = tables.read(lying);
      const Address info = table.per_inst_info - platform.pointer_size;
      runtime.overlay(info, "GenericsDictInfo", {{"NumDicts", 0}});
      CHECK_THROWS_AS(tables.generic_arguments(table), Error);
      runtime.overlay(info, "GenericsDictInfo", {{"NumDicts", 1}, {"NumTypeArgs", 0xffff}});
      CHECK_THROWS_AS(tables.generic_arguments(table), Error);
    }
  }
}

TEST_CASE("kinds of types by their flags", "[types]") {
  const auto with = [](std::uint32_t flags) { return MethodTable{.flags = flags}; };
  CHECK(with(0x0004'0000).is_value_type());
  CHECK(with(0x0005'0000).is_value_type());
  CHECK(with(0x0006'0000).is_value_type());
  CHECK(with(0x0007'0000).is_value_type());
  CHECK_FALSE(with(0x000c'0000).is_value_type());
  CHECK(with(0x0008'0000).is_array());
  CHECK(with(0x000a'0000).is_array());
  CHECK(with(0x000a'0000).is_szarray());
  CHECK_FALSE(with(0x000c'0000).is_array());
  CHECK_FALSE(with(0).is_array());
  CHECK(with(0x8000'0002).is_string());
  CHECK_FALSE(with(0x800a'0002).is_string());
  CHECK(with(0x10).generic() == MethodTable::Generic::exact);
  CHECK(with(0x20).generic() == MethodTable::Generic::shared);
  CHECK(with(0x30).generic() == MethodTable::Generic::definition);
  CHECK(with(0x8000'0010).generic() == MethodTable::Generic::none);
}

TEST_CASE("the rank of an array is its class's word, or follows from its size", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address element = runtime.type({.module = 0x1000, .rid = 2});
      const Address vector = runtime.array_of(element), matrix = runtime.array_of(element, 2),
                    single = runtime.array_of(element, 1);
      {
        const Target target = runtime.target.target();
        const MethodTables tables(target);
        CHECK(tables.array_rank(tables.read(vector)) == 1);
        CHECK(tables.array_rank(tables.read(matrix)) == 2);
        CHECK(tables.array_rank(tables.read(single)) == 1);
        runtime.target.memory().write_integer(tables.read(matrix).ee_class + 8 * platform.pointer_size, 200,
                                              1);
        CHECK_THROWS_AS(tables.array_rank(tables.read(matrix)), Error);
      }
      runtime.target.descriptor().types.erase("ArrayClass");
      runtime.target.global("ArrayBaseSize", 3 * platform.pointer_size);
      const Target target = runtime.target.target();
      const MethodTables tables(target);
      CHECK(tables.array_rank(tables.read(matrix)) == 2);
      CHECK(tables.array_rank(tables.read(single)) == 1);
    }
  }
}

TEST_CASE("TypeDescs: pointers, byrefs, variables, function pointers", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      MemoryBuilder& memory = runtime.target.memory();
      const Address pointer = runtime.type_desc(0x0f, 0x1230), byref = runtime.type_desc(0x10, 0x4560),
                    view = runtime.type_desc(0x11, 0x7890);
      const Address variable = runtime.type_desc(0x1e, 0);
      runtime.overlay(variable & ~Address{2}, "TypeVarTypeDesc",
                      {{"Module", 0x1000}, {"Token", 0x2a00'0007}});
      const Address function = memory.allocate(256) | 2;
      runtime.overlay(function & ~Address{2}, "TypeDesc", {{"TypeAndFlags", 0x1b}});
      runtime.overlay(function & ~Address{2}, "FnPtrTypeDesc", {{"NumArgs", 2}, {"CallConv", 0x09}});
      memory
          .at((function & ~Address{2}) +
              static_cast<Address>(runtime.target.offset("FnPtrTypeDesc", "RetAndArgTypes")))
          .pointer(Address{0x10})
          .pointer(Address{0x20})
          .pointer(Address{0x30});
      const Address odd = runtime.type_desc(0x44, 0);
      const Target target = runtime.target.target();
      CHECK(is_type_desc(pointer));
      CHECK(read_type_desc(target, pointer).argument == 0x1230);
      CHECK(read_type_desc(target, byref).element_type == element_type::byref);
      CHECK(read_type_desc(target, view).argument == 0x7890);
      CHECK(read_type_desc(target, variable).token == 0x2a00'0007);
      CHECK(read_type_desc(target, variable).module == 0x1000);
      const TypeDesc of = read_type_desc(target, function);
      CHECK(of.call_conv == 0x09);
      CHECK(of.ret_and_args == std::vector<Address>{0x10, 0x20, 0x30});
      CHECK_THROWS_AS(read_type_desc(target, odd), Error);
      CHECK_THROWS_AS(read_type_desc(target, 2), Error);
      runtime.overlay(function & ~Address{2}, "FnPtrTypeDesc", {{"NumArgs", 0xffff'ffff}});
      CHECK_THROWS_AS(read_type_desc(target, function), Error);
    }
  }
}
