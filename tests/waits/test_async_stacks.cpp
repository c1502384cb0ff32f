// Which thread has an object on its stack.
#include "core/waits/async_stacks.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address stack = 0x7000'0f00; // near the end of a page
constexpr Address wanted = 0x1234'5678, other = 0x1234'5680;

ThreadTop thread(std::uint64_t os_id, Address sp) {
  ThreadTop top{.os_id = os_id, .registers = RegisterContext(Cpu::x64)};
  top.registers.set_sp(sp);
  return top;
}

} // namespace

TEST_CASE("an object is found in registers and on the stack, but not beyond missing memory",
          "[async_stacks]") {
  TargetBuilder builder{Platform{}};
  MemoryBuilder& memory = builder.memory();
  memory.write(stack, std::vector<std::byte>(0x200)); // its page and a part of the next one
  memory.write_integer(stack + 0x1f8, wanted, 8);
  memory.write_integer(stack + 0x10, other + 1, 8); // no address of an object
  memory.write_integer(stack + 0x2000, other, 8);
  const Target target = builder.target();
  ThreadTop second = thread(8, 0x9000'0000); // without a stack
  second.registers.set(3, other);
  const std::vector<ThreadTop> threads{thread(7, stack), second, thread(9, ~Address{0} - 7)};
  const auto found = find_on_stacks(target, threads, {wanted, other});
  REQUIRE(found.size() == 2);
  CHECK(found.find(wanted)->second.os_id == 7);
  CHECK(found.find(wanted)->second.at == stack + 0x1f8);
  CHECK(found.find(other)->second.os_id == 8);
  CHECK(found.find(other)->second.at == 0);
  CHECK(find_on_stacks(target, threads, {}).empty());
}
