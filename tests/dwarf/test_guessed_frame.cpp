#include "core/dwarf/guessed_frame.h"
#include "core/isa/registers.h"
#include "tests/dwarf/expression_machine.h"
#include "tests/dwarf/written_module.h"

using namespace clr;

namespace {

constexpr Platform guess_platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
constexpr Address stack = 0x7fff'0000, frame = 0x7fff'0100, callers_frame = 0x7fff'0200;
constexpr Address returns_to = 0x40'1000;

// The 8 bytes before the address that the top of the stack holds, and two frames.
ExpressionMachine machine_with(std::uint64_t before_return) {
  return {.registers = {{x64_register::rsp, stack}, {x64_register::rbp, frame}},
          .words = {{stack, returns_to}, {frame, callers_frame}, {returns_to - 8, before_return}}};
}

// As they stand in memory, the last one before the return address.
std::uint64_t instruction_bytes(std::initializer_list<unsigned> bytes) {
  std::uint64_t value = 0x9090'9090'9090'9090; // what stands before it
  for (const unsigned byte : bytes) value = value >> 8 | std::uint64_t{byte} << 56;
  return value;
}

void check_guess(std::uint64_t before_return, bool on_top) {
  INFO(std::hex << before_return);
  ExpressionMachine machine = machine_with(before_return);
  CHECK(machine.run(guessed_cfa(guess_platform).bytes()) == (on_top ? stack + 8 : frame + 16));
  CHECK(machine.reads == 2);
  CHECK(machine.run(guessed_frame_pointer(guess_platform).bytes()) == (on_top ? frame : callers_frame));
}

} // namespace

TEST_CASE("guessed frames: behind every form of a call the top of the stack is the return address") {
  check_guess(instruction_bytes({0xE8, 1, 2, 3, 4}), true);             // call rel32
  check_guess(instruction_bytes({0xFF, 0x15, 1, 2, 3, 4}), true);       // call [rip + 0x04030201]
  check_guess(instruction_bytes({0xFF, 0xD0}), true);                   // call rax
  check_guess(instruction_bytes({0x41, 0xFF, 0xD7}), true);             // call r15
  check_guess(instruction_bytes({0xFF, 0x10}), true);                   // call [rax]
  check_guess(instruction_bytes({0xFF, 0x53, 0x20}), true);             // call [rbx + 0x20]
  check_guess(instruction_bytes({0xFF, 0x97, 0, 1, 0, 0}), true);       // call [rdi + 0x100]
  check_guess(instruction_bytes({0x41, 0xFF, 0x54, 0x24, 0x20}), true); // call [r12 + 0x20]
}

TEST_CASE("guessed frames: elsewhere the frame pointer tells") {
  check_guess(instruction_bytes({0x90}), false);
  check_guess(0, false);
  check_guess(instruction_bytes({0xFF, 0xE0}), false);             // jmp rax
  check_guess(instruction_bytes({0xFF, 0x25, 1, 2, 3, 4}), false); // jmp [rip + 0x04030201]
  check_guess(instruction_bytes({0xFF, 0x70, 0x10}), false);       // push [rax + 0x10]
  check_guess(instruction_bytes({0xE8, 1, 2, 3, 4, 0x90}), false); // the call is one instruction before
}

TEST_CASE("guessed frames: the rules hold between rows of a function's entry, which LLDB looks for") {
  constexpr Address begin = 0x7000'0000;
  constexpr unsigned rip = 16;
  DebugModule module = module_at(begin, guess_platform);
  module.code.push_back(code_at(begin, 0x1000, "[code heap]"));
  module.code[0].function = false;
  module.code[0].unwind = {{.begin = 0, .end = 0x1000, .rows = {}, .guessed = true}};
  {
    const ModuleReadBack written(module);
    REQUIRE(written.rules(begin));
    CHECK(written.rules(begin)->cfa == "7+8");
    for (const Address at : {begin + 1, begin + 0x7FF, begin + 0xFFF}) {
      const auto rules = written.rules(at);
      REQUIRE(rules);
      CHECK(rules->cfa.starts_with("7+0"));
      CHECK(rules->of(rip) == "cfa -8");
      CHECK(rules->of(x64_register::rbp) != "same");
      CHECK(rules->of(x64_register::rbx) == "same");
    }
    CHECK_FALSE(written.rules(begin + 0x1000));
  }
  // Code that is cut, and sizes that lie.
  for (const std::uint32_t end : {0u, 1u, 0x1001u, 0xFFFF'FFFFu}) {
    module.code[0].unwind[0].end = end;
    CHECK_FALSE(ModuleReadBack(module).rules(begin));
  }
  module.platform.cpu = Cpu::arm64;
  module.code[0].unwind[0].end = 0x1000;
  CHECK_FALSE(ModuleReadBack(module).rules(begin));
}
