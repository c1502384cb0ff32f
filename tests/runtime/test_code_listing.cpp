// Names for the targets of instructions, with native symbols from a table in the test.
#include "core/runtime/code_listing.h"
#include "tests/support/execution_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address method = 0x40'1000, libc = 0x30'0000, cell = 0x50'0000;

std::string symbols(Address address) {
  return address == libc + 0x10 ? "libc.so.6`read" : "";
}

// A runtime with one method without a name, and a cell.
struct Process {
  explicit Process(Platform platform) : builder(platform) {
    auto heap = builder.heap(0x40'0000, 0x48'0000);
    builder.method(heap, {.start = method, .size = 0x50, .method_desc = 0x7777'0000});
    builder.types().variable("AppDomain", 0x1234);
    const Address descriptor = builder.types().write_descriptor();
    modules = {
        {.path = "/lib/libc.so.6", .base = libc, .size = 0x1'0000, .build_id = {}, .contract_descriptor = {}},
        {.path = "/lib/libcoreclr.so",
         .base = 0x20'0000,
         .size = 0x1'0000,
         .build_id = {},
         .contract_descriptor = descriptor}};
  }
  ExecutionBuilder builder;
  std::vector<LoadedModule> modules;
};

} // namespace

TEST_CASE("what an instruction refers to has a name, or a reason why it has none") {
  using Kind = CodeReference::Kind;
  for (const Platform platform : execution_platforms()) {
    CAPTURE(to_string(platform));
    Process process(platform);
    MemoryBuilder& memory = process.builder.memory();
    Runtime runtime(memory, process.modules, platform, nullptr);
    REQUIRE(runtime.absence() == nullptr);
    const auto name = [&](Kind kind, Address address, bool transfers) {
      return name_reference(runtime, memory, {kind, address, transfers}, symbols);
    };

    SECTION("a branch") {
      const auto to_method = name(Kind::branch, method, true);
      REQUIRE(to_method);
      CHECK_FALSE(to_method->named); // the builder describes no MethodDescs
      CHECK(to_method->text == "the runtime's descriptor has no field MethodDesc.Flags3AndTokenRemainder");
      CHECK(to_method->address == method);
      CHECK(name(Kind::branch, libc + 0x10, true)->text == "libc.so.6`read");
      const auto unknown = name(Kind::branch, libc + 0x20, true);
      REQUIRE(unknown);
      CHECK_FALSE(unknown->named);
      CHECK(unknown->text == "native code of libc.so.6");
    }
    SECTION("a cell") {
      CHECK(name(Kind::cell, cell, true)->text.find("cannot be read") != std::string::npos);
      CHECK_FALSE(name(Kind::cell, cell, true)->named);
      CHECK_FALSE(name(Kind::cell, cell, false));
      memory.at(cell).pointer(0);
      CHECK(name(Kind::cell, cell, true)->text == "an empty cell");
      memory.at(cell).pointer(libc + 0x10);
      const auto through = name(Kind::cell, cell, true);
      CHECK(through->named);
      CHECK(through->address == libc + 0x10);
      CHECK(name(Kind::cell, cell, false)->text == "libc.so.6`read");
    }
    SECTION("a constant is data unless it is code with a name") {
      CHECK_FALSE(name(Kind::constant, 0x1234, false));
      CHECK_FALSE(name(Kind::constant, libc + 0x20, false));
      CHECK(name(Kind::constant, libc + 0x10, false)->text == "libc.so.6`read");
    }
  }
}
