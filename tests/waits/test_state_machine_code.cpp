// Where the IL of a MoveNext waits.
#include "core/waits/state_machine_code.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// A module with the fields of a machine and the methods that it calls; tokens by name.
Bytes module_bytes() {
  MetadataBuilder builder;
  builder.assembly("test");
  builder.type("N", "Machine");
  for (const char* const name : {"<>1__state", "<>u__1", "<>u__2", "<held>5__1"})
    builder.add(MetadataTable::field, {0, builder.string(name), builder.blob(bytes_of({6, 8}))});
  for (const char* const name : {"GetAwaiter", "DisposeAsync", "get_IsCompleted"})
    builder.add(MetadataTable::member_ref, {1u << 3, builder.string(name), builder.blob(bytes_of({0}))});
  return builder.build();
}

struct Names {
  Bytes bytes = module_bytes();
  HostMemory memory{bytes};
  Metadata metadata{ByteRange(memory, 0, bytes.size())};
};

constexpr unsigned state_field = 1, awaiter_1 = 2, awaiter_2 = 3, held = 4; // rows
constexpr unsigned get_awaiter = 1, dispose = 2, is_completed = 3;

struct Code {
  Bytes il;
  Code& op(std::initializer_list<unsigned> bytes) {
    append(il, bytes_of(bytes));
    return *this;
  }
  Code& store(unsigned row) { return op({0x7d, row, 0, 0, 0x04}); }
  Code& load(unsigned row) { return op({0x02, 0x7b, row, 0, 0, 0x04}); }
  Code& call(unsigned row) { return op({0x6f, row, 0, 0, 0x0a}); }
  // As compilers write an await: ldarg.0; ldc; dup; stloc.0; stfld state; ldarg.0; ldloc.1; stfld awaiter
  Code& await(unsigned state, unsigned awaiter) {
    return op({0x02, 0x1f, state, 0x25, 0x0a}).store(state_field).op({0x02, 0x07}).store(awaiter);
  }
};

} // namespace

TEST_CASE("an await is behind the store of its state, with its awaiter", "[state_machine_code]") {
  Names names;
  Code code;
  code.await(0, awaiter_1).await(7, awaiter_2);
  code.op({0x02, 0x15, 0x25, 0x0a}).store(state_field);      // -1: it runs again
  code.op({0x02, 0x1f, 0xfe}).store(state_field).op({0x2a}); // -2: it is done
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == 2);
  CHECK(sites.at(0).yield_offset == 10);
  CHECK(sites.at(0).awaiter == "<>u__1");
  CHECK(sites.at(7).yield_offset == 27);
  CHECK(sites.at(7).awaiter == "<>u__2");
  CHECK_FALSE(sites.at(0).dispose_call);
}

TEST_CASE("an await of DisposeAsync knows the store of what is disposed", "[state_machine_code]") {
  Names names;
  Code code;
  code.op({0x02, 0x07}).store(held); // at 2
  code.load(held).call(dispose).call(get_awaiter).call(is_completed).await(0, awaiter_1);
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == 1);
  CHECK(sites.at(0).dispose_call == 13u);
  CHECK(sites.at(0).dispose_store == 2u);
  // What ConfigureAwait made of it is a structure, whose address is pushed: ldarg.0; ldflda
  Code structure;
  structure.op({0x02, 0x07}).store(held);
  structure.op({0x02, 0x7c, held, 0, 0, 0x04})
      .call(dispose)
      .call(get_awaiter)
      .call(is_completed)
      .await(0, awaiter_1);
  const auto of_structure = await_sites(names.metadata, structure.il);
  REQUIRE(of_structure.size() == 1);
  CHECK(of_structure.at(0).dispose_store == 2u);
}

TEST_CASE("an await of DisposeAsync on a variable knows where that was set last", "[state_machine_code]") {
  Names names;
  Code code;
  code.op({0x02, 0x0b});             // stloc.1 at 1: of another use of the variable
  code.op({0x02, 0x0b, 0x02, 0x0c}); // stloc.1 at 3, stloc.2 at 5
  code.op({0x07}).call(dispose).call(get_awaiter).call(is_completed).await(0, awaiter_1);
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == 1);
  CHECK(sites.at(0).dispose_call == 7u);
  CHECK(sites.at(0).dispose_store == 3u);
  // A copy of a field, made for the call, stands for the field.
  Code copy;
  copy.op({0x02, 0x07}).store(held); // at 2
  copy.load(held).op({0x0c, 0x08}).call(dispose).call(get_awaiter).call(is_completed).await(0, awaiter_1);
  const auto of_copy = await_sites(names.metadata, copy.il);
  REQUIRE(of_copy.size() == 1);
  CHECK(of_copy.at(0).dispose_store == 2u);
  // A variable that nothing sets.
  Code never;
  never.op({0x07}).call(dispose).call(get_awaiter).call(is_completed).await(0, awaiter_1);
  CHECK_FALSE(await_sites(names.metadata, never.il).at(0).dispose_store);
}

TEST_CASE("a store of no known number, and one without an awaiter", "[state_machine_code]") {
  Names names;
  Code code;
  code.op({0x02, 0x07}).store(state_field); // a variable
  code.op({0x02, 0x16}).store(state_field);
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == 1);
  CHECK(sites.at(0).awaiter.empty());
  // A token of no row has no name, and is no field of the machine.
  CHECK(await_sites(names.metadata, Code().op({0x16}).op({0x7d, 99, 0, 0, 0x04}).il).empty());
}

TEST_CASE("an await that a jump leads back before is in a loop", "[state_machine_code]") {
  Names names;
  Code code;
  code.await(0, awaiter_1);
  const std::size_t begin = code.il.size();
  code.await(1, awaiter_1);
  code.op({0x2b, 0x00});                                                      // forward
  code.op({0x2d, 0x100 - static_cast<unsigned>(code.il.size() + 2 - begin)}); // brtrue.s to the second await
  code.await(2, awaiter_2).op({0x2a});
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == 3);
  CHECK_FALSE(sites.at(0).in_loop);
  CHECK(sites.at(1).in_loop);
  CHECK_FALSE(sites.at(2).in_loop);
}

TEST_CASE("an await is in a loop when a jump behind it leads to it or in front of it",
          "[state_machine_code]") {
  Names names;
  Code code;
  code.await(0, awaiter_1);                  // 15 bytes each
  code.await(1, awaiter_1).op({0x2b, 0xf0}); // to the awaiter of its own await
  code.await(2, awaiter_1).op({0x2b, 0xfb}); // to what is behind it
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == 3);
  CHECK_FALSE(sites.at(0).in_loop);
  CHECK(sites.at(1).in_loop);
  CHECK_FALSE(sites.at(2).in_loop);
}

TEST_CASE("very many awaits and jumps take no more time than both", "[state_machine_code]") {
  Names names;
  Code code;
  constexpr unsigned many = 50'000;
  code.op({0x02, 0x07}).store(held);
  for (unsigned i = 0; i < many; ++i) {
    code.load(held).call(dispose).call(get_awaiter).call(is_completed);
    code.op({0x02, 0x20, i & 0xff, i >> 8 & 0xff, i >> 16, 0, 0x25, 0x0a}).store(state_field);
  }
  for (unsigned i = 0; i < many; ++i) code.op({0x38, 0, 0, 0, 0xff}); // far in front of all
  const auto sites = await_sites(names.metadata, code.il);
  REQUIRE(sites.size() == many);
  CHECK(sites.at(many - 1).in_loop);
  CHECK(sites.at(many - 1).dispose_store == 2u);
}

TEST_CASE("a name that nobody would write is none", "[state_machine_code]") {
  MetadataBuilder builder;
  builder.assembly("test");
  builder.type("N", "Machine");
  const std::string long_name = "<>u__" + std::string(max_await_name, 'x');
  for (const std::string& name : {std::string("<>1__state"), long_name})
    builder.add(MetadataTable::field, {0, builder.string(name), builder.blob(bytes_of({6, 8}))});
  const Bytes bytes = builder.build();
  HostMemory memory{bytes};
  const Metadata metadata{ByteRange(memory, 0, bytes.size())};
  Code code;
  code.await(0, awaiter_1);
  const auto sites = await_sites(metadata, code.il);
  REQUIRE(sites.size() == 1);
  CHECK(sites.at(0).awaiter.empty());
}
