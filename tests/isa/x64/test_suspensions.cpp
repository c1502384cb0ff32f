// Where x64 code of methods that the runtime suspends leaves at its awaits. The instructions are those of
// .NET 10, with the addresses of calls left at 0.
#include "core/isa/code_instructions.h"
#include "core/isa/suspension_place.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t state_offset = 0x28;

struct Code {
  std::vector<std::byte> bytes;
  Code& op(std::initializer_list<unsigned> more) {
    for (const unsigned byte : more) bytes.push_back(static_cast<std::byte>(byte));
    return *this;
  }
  std::uint32_t here() const { return static_cast<std::uint32_t>(bytes.size()); }
  Code& call() { return op({0xe8, 0, 0, 0, 0}); }
  // test rcx, rcx; jne. Returns the offset of the jump, which to() sets.
  std::uint32_t leave() {
    op({0x48, 0x85, 0xc9});
    const std::uint32_t at = here();
    op({0x0f, 0x85, 0, 0, 0, 0});
    return at;
  }
  void to(std::uint32_t jump, std::uint32_t target) {
    const std::uint32_t distance = target - (jump + 6);
    for (unsigned i = 0; i < 4; ++i) bytes[jump + 2 + i] = static_cast<std::byte>(distance >> (8 * i));
  }
  // mov rdi, rcx; call AllocContinuation; mov r13, rax; movabs rdi, RESUME; mov [r13 + 0x20], rdi
  Code& make() {
    return op({0x48, 0x89, 0xcf})
        .call()
        .op({0x49, 0x89, 0xc5, 0x48, 0xbf, 1, 2, 3, 4, 5, 6, 7, 0, 0x49, 0x89, 0x7d, 0x20});
  }
  std::vector<SuspensionPlace> places(Cpu cpu = Cpu::x64) const {
    HostMemory memory(bytes);
    const std::array<std::uint32_t, 1> begin{0};
    const CodeInstructions code(memory, Cpu::x64, 0, here(), begin);
    REQUIRE(code.known(0, here()));
    return suspension_places(cpu, bytes, code.between(0, here()), state_offset);
  }
};

} // namespace

TEST_CASE("optimised code gives each continuation its number", "[suspension_place]") {
  Code code;
  const std::uint32_t first = code.call().leave(), second = code.call().leave(), third = code.call().leave();
  code.op({0xc3});
  // The blocks lie in any order: 2 with flags behind it, 0 by xor, 1 as eight bytes at once.
  code.to(third, code.here());
  code.make().op({0x48, 0xbf, 2, 0, 0, 0, 9, 0, 0, 0, 0x49, 0x89, 0x7d, 0x28, 0xc3});
  code.to(first, code.here());
  code.make().op({0x31, 0xff, 0x49, 0x89, 0x7d, 0x28, 0xc3});
  code.to(second, code.here());
  code.make().op({0x49, 0xc7, 0x45, 0x28, 1, 0, 0, 0, 0xc3});
  CHECK(code.places() == std::vector<SuspensionPlace>{{first, 0}, {second, 1}, {third, 2}});
  CHECK(code.places(Cpu::arm64).empty());
}

TEST_CASE("code that is not optimised compares a variable, and may store by r12", "[suspension_place]") {
  Code code;
  // cmp qword [rbp - 0x78], 0; jne
  code.call().op({0x48, 0x83, 0x7d, 0x88, 0x00});
  const std::uint32_t jump = code.here();
  code.op({0x0f, 0x85, 0, 0, 0, 0, 0xc3});
  code.to(jump, code.here());
  // call AllocContinuation; mov [rbp - 0x18], rax; mov dword [r12 + 0x28], 7
  code.call().op({0x48, 0x89, 0x45, 0xe8, 0x41, 0xc7, 0x44, 0x24, 0x28, 7, 0, 0, 0, 0xc3});
  CHECK(code.places() == std::vector<SuspensionPlace>{{jump, 7}});
}

TEST_CASE("the code behind a je may suspend, too", "[suspension_place]") {
  Code code;
  code.call().op({0x48, 0x85, 0xc9});
  const std::uint32_t jump = code.here();
  code.op({0x74, 0x00});
  code.make().op({0xc7, 0x40, 0x28, 3, 0, 0, 0, 0xc3});
  code.bytes[jump + 1] = static_cast<std::byte>(code.here() - jump - 2);
  code.op({0xc3});
  CHECK(code.places() == std::vector<SuspensionPlace>{{jump, 3}});
}

TEST_CASE("what is no suspension has no place", "[suspension_place]") {
  const auto with = [](std::initializer_list<unsigned> block, bool made = true) {
    Code code;
    const std::uint32_t jump = code.call().leave();
    code.op({0xc3});
    code.to(jump, code.here());
    if (made) code.make();
    code.op(block).op({0xc3});
    return code.places();
  };
  CHECK(with({0x49, 0xc7, 0x45, 0x28, 1, 0, 0, 0}).size() == 1);
  CHECK(with({0x49, 0xc7, 0x45, 0x28, 1, 0, 0, 0}, false).empty());      // nothing was made
  CHECK(with({0x49, 0xc7, 0x45, 0x30, 1, 0, 0, 0}).empty());             // another field
  CHECK(with({0x49, 0x89, 0x75, 0x28}).empty());                         // a number that is not known
  CHECK(with({0x31, 0xff, 0x89, 0xc7, 0x49, 0x89, 0x7d, 0x28}).empty()); // set again, by another register
  CHECK(with({0xc7, 0x45, 0x28, 1, 0, 0, 0}).empty());                   // a variable of the frame
  CHECK(with({0xeb, 0x00, 0x49, 0xc7, 0x45, 0x28, 1, 0, 0, 0}).empty()); // behind a jump
  CHECK(Code().op({0x75, 0x7f}).places().empty());                       // out of the code
}
