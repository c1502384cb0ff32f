// The environment of a process, as the kernel puts it on the stack.
#include "core/runtime/async_waiting.h"
#include "core/runtime/memory_limit.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

#include <cstring>

using namespace clr;
using namespace clr::test;

namespace {

// The strings end right below `name`, whose page begins with them.
struct Stack final : MemoryReader {
  Address begin = 0x7ff0'0000'0000, name = 0;
  std::string bytes;
  explicit Stack(const std::string& environment, std::size_t size = 3 * 4096) : bytes(size, '\0') {
    bytes += '\0' + environment + '\0';
    name = begin + bytes.size();
    bytes += "./program";
  }
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (address < begin || address - begin >= bytes.size()) return 0;
    const std::size_t size = std::min<std::size_t>(out.size(), bytes.size() - (address - begin));
    std::memcpy(out.data(), bytes.data() + (address - begin), size);
    return size;
  }
};

} // namespace

TEST_CASE("a variable of the environment is found by its whole name", "[memory_limit]") {
  using namespace std::string_literals;
  Stack stack("MY_LIMIT=1\0LIMIT=200\0LIMITS=3\0EMPTY="s);
  CHECK(environment_value(stack, stack.name, "LIMIT") == "200");
  CHECK(environment_value(stack, stack.name, "LIMITS") == "3");
  CHECK(environment_value(stack, stack.name, "EMPTY") == "");
  CHECK_FALSE(environment_value(stack, stack.name, "MIT"));
  CHECK_FALSE(environment_value(stack, 0, "LIMIT"));
}

TEST_CASE("an environment of several pages is read, one without an end is not", "[memory_limit]") {
  Stack large("FIRST=" + std::string(9'000, 'x'));
  CHECK(environment_value(large, large.name, "FIRST")->size() == 9'000);
  Stack endless(std::string(2 * max_environment_bytes, 'x'), 0);
  CHECK_FALSE(environment_value(endless, endless.name, "FIRST"));
}

TEST_CASE("fields are called as the source calls them", "[memory_limit]") {
  CHECK(source_name("_gate") == "_gate");
  CHECK(source_name("<gate>5__2") == "gate");
  CHECK(source_name("<Gate>k__BackingField") == "Gate");
  CHECK(source_name("<>7__wrap1").empty());
  CHECK(source_name("<broken").empty());
}
