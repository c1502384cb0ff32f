#include "core/dwarf/choice.h"
#include "core/dwarf/jumped_frame.h"
#include "tests/dwarf/expression_machine.h"
#include "tests/dwarf/written_module.h"

using namespace clr;
using namespace clr::x64_register;

namespace {

constexpr Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};

FrameJumps jumps_to(std::size_t count) {
  FrameJumps jumps;
  for (std::size_t i = 0; i < count; ++i) {
    RegisterContext caller(Cpu::x64);
    caller.set_pc(0x40'0000 + i);
    caller.set_sp(0x7f00'0000'1000 + 0x1000 * i);
    caller.set(rbp, 0x7f00'0000'2000 + 0x1000 * i);
    jumps.push_back({.sp = 0x7f00'0000'0000 + 0x1000 * i, .caller = caller});
  }
  return jumps;
}

} // namespace

TEST_CASE("jumps: each frame has its own caller, any other frame the usual one") {
  for (const std::size_t count : {1u, 2u, 3u, 100u, 500u}) {
    const FrameJumps jumps = jumps_to(count);
    DwarfBytes other(x64);
    write_register_value(other, rbp, 16);
    const DwarfBytes made = jumped_value(x64, jumps, rip, other);
    CHECK(made.size() < 0x8000); // how far a branch of DWARF reaches
    ExpressionMachine machine{.registers = {{rsp, 0}, {rbp, 0x500}}, .words = {}};
    for (const FrameJump& jump : jumps) {
      machine.registers[rsp] = jump.sp;
      REQUIRE(machine.run(made.bytes()) == jump.caller.pc());
      machine.registers[rsp] = jump.sp + 8;
      REQUIRE(machine.run(made.bytes()) == 0x510);
      machine.registers[rsp] = jump.sp - 8;
      REQUIRE(machine.run(made.bytes()) == 0x510);
    }
  }
}

TEST_CASE("jumps: a row of frames whose callers are known one by one, and the next row without them") {
  constexpr Address begin = 0x7000'0000;
  const auto jumps = std::make_shared<const FrameJumps>(jumps_to(3));
  FrameLayout layout;
  layout.cfa = {rbp, 16};
  layout.save(rbp, {rbp, 0});
  layout.save(rip, {rbp, 8});
  DebugModule module = module_at(begin, x64);
  module.code.push_back(code_at(begin, 0x100, "wait"));
  DebugUnwindRow row{.offset = 0, .layout = layout};
  row.jumps = jumps.get();
  module.code[0].unwind = {{.begin = 0, .end = 0x100, .rows = {row, {.offset = 0x40, .layout = layout}}}};
  const ModuleReadBack written(module);
  const auto jumping = written.rules(begin + 8), plain = written.rules(begin + 0x48);
  REQUIRE(jumping);
  REQUIRE(plain);
  CHECK(jumping->cfa.starts_with("7+0")); // an expression that begins with rsp
  CHECK(jumping->of(rbp) != plain->of(rbp));
  CHECK(jumping->of(rip) != plain->of(rip));
  CHECK(plain->cfa == "6+16");
  CHECK(plain->of(rip) == "cfa -8");
  CHECK(plain->of(rbx) == "same");
}

TEST_CASE("jumps: where other frames are the last ones of their stacks, no address is a return address") {
  constexpr Address begin = 0x7000'0000;
  const auto jumps = std::make_shared<const FrameJumps>(jumps_to(1));
  const auto written = [&](bool outermost) {
    FrameLayout layout;
    layout.cfa = {rsp, 8};
    layout.outermost = outermost;
    if (!outermost) layout.save(rip, {rsp, 0});
    DebugModule module = module_at(begin, x64);
    module.code.push_back(code_at(begin, 0x100, "wait"));
    DebugUnwindRow row{.offset = 0, .layout = layout};
    row.jumps = jumps.get();
    module.code[0].unwind = {{.begin = 0, .end = 0x100, .rows = {row}}};
    const auto rules = ModuleReadBack(module).rules(begin + 8);
    REQUIRE(rules);
    CHECK(rules->cfa.starts_with("7+0"));
    return rules->of(rip);
  };
  // libdw puts the CFA first. The constant 0 is counted from the stack pointer; 16 is the program counter.
  CHECK(written(false).starts_with("cfa 7+0 "));
  CHECK(written(false).find("deref") != std::string::npos);
  CHECK(written(true).starts_with("cfa 7+0 "));
  CHECK(written(true).find("deref") == std::string::npos);
  CHECK(written(true).find(" 16+0") == std::string::npos);
}
