// Where the IL of a method that the runtime suspends waits.
#include "core/waits/method_il.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// Rows of MemberRef.
constexpr unsigned await = 1, other_await = 2, dispose = 3, configure = 4, load_task = 5;

Bytes module_bytes() {
  MetadataBuilder builder;
  builder.assembly("test");
  builder.type("N", "Program");
  const std::uint32_t scope = builder.assembly_ref("System.Runtime");
  const auto type = [&](std::string_view name_space, std::string_view name) {
    return builder.type_ref(name_space, name, scope) & 0xff'ffff;
  };
  const std::uint32_t helpers = type("System.Runtime.CompilerServices", "AsyncHelpers"),
                      others = type("Mine", "AsyncHelpers");
  const auto method = [&](std::uint32_t parent, std::string_view name) {
    builder.add(MetadataTable::member_ref,
                {parent << 3 | 1, builder.string(name), builder.blob(bytes_of({0}))});
  };
  method(helpers, "Await");
  method(others, "Await");
  method(others, "DisposeAsync");
  method(others, "ConfigureAwait");
  method(others, "Load");
  return builder.build();
}

struct Code {
  Bytes il;
  Code& op(std::initializer_list<unsigned> bytes) {
    append(il, bytes_of(bytes));
    return *this;
  }
  Code& call(unsigned row) { return op({0x28, row, 0, 0, 0x0a}); }
  std::vector<AwaitCall> calls() const {
    static const Bytes bytes = module_bytes();
    HostMemory memory(bytes);
    return await_calls(Metadata(ByteRange(memory, 0, bytes.size())), il);
  }
};

} // namespace

TEST_CASE("awaits are calls of AsyncHelpers, each with the call before it", "[method_il]") {
  // At 0, 5 and 10; ConfigureAwait makes nothing that is awaited.
  const auto calls = Code().call(load_task).call(configure).call(await).call(other_await).call(await).calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].before == 0);
  CHECK(calls[0].offset == 10);
  CHECK(calls[1].before == 15); // another class of the same name
  CHECK(calls[1].offset == 20);
  CHECK_FALSE(calls[0].dispose_store);
}

TEST_CASE("an await of DisposeAsync knows the store of the variable that is disposed", "[method_il]") {
  // call Load; stloc.1; stloc.s 5; ldloc.1; call DisposeAsync; call Await
  const auto short_one = Code().call(load_task).op({0x0b, 0x13, 5, 0x07}).call(dispose).call(await).calls();
  REQUIRE(short_one.size() == 1);
  CHECK(short_one[0].dispose_store == 5u);
  // A structure, whose address is pushed: stloc.s 5; ldloca.s 5; call DisposeAsync; call ConfigureAwait; call
  // Await
  const auto by_address = Code().op({0x13, 5, 0x12, 5}).call(dispose).call(configure).call(await).calls();
  REQUIRE(by_address.size() == 1);
  CHECK(by_address[0].dispose_store == 0u);
  // Nothing is stored: an argument.
  const auto argument = Code().op({0x02}).call(dispose).call(await).calls();
  REQUIRE(argument.size() == 1);
  CHECK_FALSE(argument[0].dispose_store);
}

TEST_CASE("an await without a call before it", "[method_il]") {
  const auto calls = Code().call(await).calls();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].before == 0);
  CHECK(Code().calls().empty());
}

TEST_CASE("a place is in a loop when a jump behind it leads to it or in front of it", "[method_il]") {
  // At 0 nop, 1 nop, 2 br.s back to 1, 4 nop, 5 br.s forward.
  const Bytes il = bytes_of({0x00, 0x00, 0x2b, 0xfd, 0x00, 0x2b, 0x00, 0x2a});
  CHECK_FALSE(is_in_loop(il, 0));
  CHECK(is_in_loop(il, 1));
  CHECK(is_in_loop(il, 2));
  CHECK_FALSE(is_in_loop(il, 4));
  CHECK_FALSE(is_in_loop(il, 5));
}
