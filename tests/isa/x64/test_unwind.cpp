#include "core/isa/x64/unwind.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>

using namespace clr;
using test::StackMemory;
using namespace clr::x64_register;

namespace {

constexpr Address base = 0x10000, function = 0x20000, code = base + 0x100, stack = 0x7000'0000;
constexpr std::uint32_t code_size = 0x80;
constexpr std::uint32_t unwind_rva = 0x11000;
constexpr Address unwind = base + unwind_rva;

// A function of which unwind codes and instructions can be set, and registers with telling values.
struct Function {
  StackMemory memory;
  RegisterContext context{Cpu::x64};

  explicit Function(std::initializer_list<unsigned> info, std::initializer_list<unsigned> instructions = {}) {
    memory.u32(function, 0x100);
    memory.u32(function + 4, 0x100 + code_size);
    memory.u32(function + 8, unwind_rva);
    memory.bytes(unwind, info);
    // nop everywhere, then what the test wants at the start
    for (Address at = 0; at < code_size; ++at) memory.bytes(code + at, {0x90});
    memory.bytes(code, instructions);
    for (unsigned reg = 0; reg < 17; ++reg) context.set(reg, 0xAA00 + reg);
    context.set_sp(stack);
    // Each stack word tells its own offset.
    for (Address at = 0; at < 0x600; at += 8) memory.u64(stack - 0x200 + at, 0x4E00 + at);
  }

  FrameLayout layout(Address ip, bool leaf) { return x64_frame_layout(memory, function, base, ip, leaf); }
  Unwound unwind_at(Address ip, bool leaf) {
    context.set_pc(ip);
    return apply_layout(memory, layout(ip, leaf), context, FoundBy::unwind_info);
  }
};

void check_missing(const std::function<void()>& action, Address at) {
  try {
    action();
    FAIL("no fault");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::memory_missing);
    CHECK(error.address() == at);
  }
}

void check_corrupt(const std::function<void()>& action) {
  try {
    action();
    FAIL("no fault");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
  }
}

} // namespace

TEST_CASE("x64: pushes and a small allocation, at every prologue position") {
  // push rbp; push r15; push rbx; sub rsp, 0x18
  Function f({0x19, 0x08, 0x04, 0x00, 0x08, 0x22, 0x04, 0x30, 0x03, 0xF0, 0x01, 0x50, 0, 0, 0, 0});
  struct {
    unsigned offset;
    Address cfa;
    bool saves_rbp, saves_r15, saves_rbx;
  } const positions[] = {{0, 8, false, false, false}, {1, 16, true, false, false},
                         {2, 16, true, false, false}, {3, 24, true, true, false},
                         {4, 32, true, true, true},   {7, 32, true, true, true},
                         {8, 56, true, true, true},   {0x40, 56, true, true, true}};
  for (const bool leaf : {false, true})
    for (const auto& at : positions) {
      CAPTURE(leaf, at.offset);
      const Unwound result = f.unwind_at(code + at.offset, leaf);
      CHECK(result.cfa == stack + at.cfa);
      CHECK(result.caller.sp() == stack + at.cfa);
      CHECK(result.caller.pc() == 0x5000 + at.cfa - 8);
      CHECK(result.return_address_at == stack + at.cfa - 8);
      CHECK(result.caller.get(rbp) == (at.saves_rbp ? 0x5000 + at.cfa - 16 : 0xAA06));
      CHECK(result.caller.get(r15) == (at.saves_r15 ? 0x5000 + at.cfa - 24 : 0xAA0F));
      CHECK(result.caller.get(rbx) == (at.saves_rbx ? 0x5000 + at.cfa - 32 : 0xAA03));
      CHECK(result.caller.get(r12) == 0xAA0C);
      CHECK_FALSE(result.caller.known(rax));
      CHECK_FALSE(result.interrupted);
    }
}

TEST_CASE("x64: large allocations, scaled and unscaled") {
  Function scaled({0x01, 0x07, 0x02, 0x00, 0x07, 0x01, 0x20, 0x00});
  CHECK(scaled.unwind_at(code + 7, false).cfa == stack + 0x100 + 8);
  CHECK(scaled.unwind_at(code + 6, false).cfa == stack + 8);
  Function unscaled({0x01, 0x07, 0x03, 0x00, 0x07, 0x11, 0x58, 0x01, 0x00, 0x00, 0, 0});
  CHECK(unscaled.unwind_at(code + 7, false).cfa == stack + 0x158 + 8);
  Function huge({0x01, 0x07, 0x03, 0x00, 0x07, 0x11, 0x00, 0x00, 0x10, 0x00, 0, 0});
  CHECK(huge.layout(code + 7, false).cfa == RegisterOffset{rsp, 0x10'0008});
}

TEST_CASE("x64: a frame register and saves relative to it") {
  // push rbp; sub rsp, 0x40; lea rbp, [rsp+0x20]; mov [rsp+0x10], rbx (as SAVE_NONVOL)
  const auto info = {0x01u, 0x0Fu, 0x05u, 0x25u, 0x0Fu, 0x34u, 0x02u, 0x00u,
                     0x0Au, 0x03u, 0x05u, 0x72u, 0x01u, 0x50u, 0u,    0u};
  Function f(info);
  f.context.set_fp(stack + 0x100);
  SECTION("in the body rsp may be anywhere") {
    f.context.set_sp(stack - 0x1000);
    const Unwound result = f.unwind_at(code + 0x20, false);
    CHECK(result.cfa == stack + 0xE0 + 0x40 + 16);
    CHECK(result.caller.get(rbx) == 0x5000 + 0xE0 + 0x10);
    CHECK(result.caller.get(rbp) == 0x5000 + 0xE0 + 0x40);
  }
  SECTION("between the set-up and the save rsp is the base no more") {
    const FrameLayout layout = f.layout(code + 0x0A, false);
    CHECK(layout.cfa == RegisterOffset{rbp, -0x20 + 0x40 + 16});
    CHECK_FALSE(layout.find(rbx));
  }
  SECTION("before the set-up rsp counts") {
    const FrameLayout layout = f.layout(code + 0x05, false);
    CHECK(layout.cfa == RegisterOffset{rsp, 0x40 + 16});
    CHECK(layout.find(rbp)->at == RegisterOffset{rsp, 0x40});
    CHECK(layout.offset_from_cfa(*layout.find(rbp)) == -16);
  }
}

TEST_CASE("x64: a save before the frame register is set up counts from rsp") {
  // sub rsp, 0x40; mov [rsp+0x38], rbp; lea rbp, [rsp+0x10]; prolog of 15
  Function f({0x01, 0x0F, 0x04, 0x15, 0x0F, 0x03, 0x09, 0x54, 0x07, 0x00, 0x04, 0x72});
  const FrameLayout before = f.layout(code + 9, false);
  CHECK(before.cfa == RegisterOffset{rsp, 0x48});
  CHECK(before.find(rbp)->at == RegisterOffset{rsp, 0x38});
  const FrameLayout after = f.layout(code + 15, false);
  CHECK(after.cfa == RegisterOffset{rbp, -0x10 + 0x48});
  CHECK(after.find(rbp)->at == RegisterOffset{rbp, -0x10 + 0x38});
}

TEST_CASE("x64: far saves and vector registers") {
  // SAVE_NONVOL_FAR r14 at 0x120; SAVE_XMM128 xmm6 at 0x20; SAVE_XMM128_FAR xmm7 at 0x130; sub rsp, 0x200
  Function f({0x01, 0x20, 0x0A, 0x00, 0x20, 0xE5, 0x20, 0x01, 0x00, 0x00, 0x18, 0x68,
              0x02, 0x00, 0x10, 0x79, 0x30, 0x01, 0x00, 0x00, 0x08, 0x01, 0x40, 0x00});
  const FrameLayout layout = f.layout(code + 0x20, false);
  CHECK(layout.cfa == RegisterOffset{rsp, 0x208});
  CHECK(layout.find(r14)->at == RegisterOffset{rsp, 0x120});
  CHECK(layout.find(17 + 6)->at == RegisterOffset{rsp, 0x20});
  CHECK(layout.find(17 + 7)->at == RegisterOffset{rsp, 0x130});
  f.context.set_pc(code + 0x20);
  const Unwound result = apply_layout(f.memory, layout, f.context, FoundBy::unwind_info);
  CHECK(result.caller.get(r14) == 0x5120);
  CHECK(saved_addresses(layout, f.context).size() == 4);
}

TEST_CASE("x64: CoreCLR's large frame register offset") {
  // push rbp; sub rsp, 0x1000 (unscaled); lea rbp, [rsp+0x800]: SET_FPREG_LARGE 0x80*16, header offset 15
  Function f({0x01, 0x10, 0x07, 0xF5, 0x10, 0x0B, 0x80, 0x00, 0x00, 0x00,
              0x08, 0x11, 0x00, 0x10, 0x00, 0x00, 0x01, 0x50, 0,    0});
  const X64UnwindInfo info = read_x64_unwind_info(f.memory, unwind);
  CHECK(info.frame_register == 5);
  CHECK(info.frame_offset == 0x800);
  REQUIRE(info.codes.size() == 3);
  CHECK(info.codes[0].op == X64UnwindOp::set_fpreg_large);
  CHECK(info.codes[0].value == 0x800);
  CHECK(to_string(info.codes[0].op) == "SET_FPREG_LARGE");
  CHECK(info.codes[1].value == 0x1000);
  f.context.set_fp(stack + 0x40);
  const FrameLayout layout = f.layout(code + 0x10, false);
  CHECK(layout.cfa == RegisterOffset{rbp, -0x800 + 0x1000 + 16});
  // 15 without SET_FPREG_LARGE means 240.
  Function small({0x01, 0x08, 0x01, 0xF5, 0x08, 0x03, 0, 0});
  CHECK(small.layout(code + 8, false).cfa == RegisterOffset{rbp, -240 + 8});
}

TEST_CASE("x64: machine frames") {
  Function plain({0x01, 0x00, 0x01, 0x00, 0x00, 0x0A, 0, 0});
  Unwound result = plain.unwind_at(code, false);
  CHECK(result.caller.pc() == 0x5000u);
  CHECK(result.caller.sp() == 0x5018u);
  CHECK(result.interrupted);
  CHECK(result.caller.get(rax) == 0xAA00); // an interrupt preserves all
  Function error_code({0x01, 0x04, 0x02, 0x00, 0x04, 0x02, 0x00, 0x1A});
  result = error_code.unwind_at(code + 4, false);
  CHECK(result.caller.pc() == 0x5010u);
  CHECK(result.caller.sp() == 0x5028u);
}

TEST_CASE("x64: operations without effect") {
  // EPILOG (version 2), SPARE, then push rbx
  Function f(
      {0x02, 0x01, 0x06, 0x00, 0x05, 0x16, 0x00, 0x06, 0x01, 0x07, 0x00, 0x00, 0x00, 0x00, 0x01, 0x30});
  CHECK(f.layout(code + 0x20, false).cfa == RegisterOffset{rsp, 16});
}

TEST_CASE("x64: chained records") {
  // child: SAVE_NONVOL rsi... of a frame that the parent set up: push rbp; lea rbp, [rsp]; sub rsp, 0x20
  Function f({0x21, 0x00, 0x02, 0x05, 0x00, 0x34, 0x01, 0x00, 0x00, 0x01,
              0,    0,    0x80, 0x01, 0,    0,    0x00, 0x20, 0x01, 0});
  f.memory.bytes(base + 0x12000, {0x01, 0x08, 0x03, 0x05, 0x08, 0x32, 0x04, 0x03, 0x01, 0x50, 0, 0});
  const FrameLayout layout = f.layout(code + 0x10, false);
  CHECK(layout.cfa == RegisterOffset{rbp, 16});
  CHECK(layout.find(rbx)->at == RegisterOffset{rbp, 8});
  CHECK(layout.find(rbp)->at == RegisterOffset{rbp, 0});
  CHECK(f.memory.reads == 5);

  SECTION("a chain that comes back to itself ends") {
    f.memory.u32(unwind + 8 + 8, unwind_rva);
    check_corrupt([&] { f.layout(code + 0x10, false); });
    CHECK(f.memory.reads < 200);
  }
}

TEST_CASE("x64: epilogues are executed forward") {
  const auto info = {0x19u, 0x08u, 0x04u, 0x00u, 0x08u, 0x22u, 0x04u, 0x30u,
                     0x03u, 0xF0u, 0x01u, 0x50u, 0u,    0u,    0u,    0u};
  constexpr Address ip = code + 0x40;
  const auto at = [&](std::initializer_list<unsigned> instructions) {
    Function f(info);
    f.memory.bytes(ip, instructions);
    return f.unwind_at(ip, true);
  };
  SECTION("add rsp, imm8; pop rbx; pop r15; pop rbp; ret") {
    const auto epilogue = {0x48u, 0x83u, 0xC4u, 0x18u, 0x5Bu, 0x41u, 0x5Fu, 0x5Du, 0xC3u};
    Function f(info);
    f.memory.bytes(ip, epilogue);
    for (const auto& [offset, popped] : {std::pair{0u, 0x18u}, {4u, 0u}, {5u, 8u}, {7u, 16u}, {8u, 24u}}) {
      CAPTURE(offset);
      // The stack pointer rises as the instructions run; the caller stays where it is.
      f.context.set_sp(offset == 0 ? stack : stack + 0x18 + popped);
      const Unwound result = f.unwind_at(ip + offset, true);
      CHECK(result.cfa == stack + 56);
      CHECK(result.caller.pc() == 0x5030u);
      if (offset <= 4) CHECK(result.caller.get(rbx) == 0x5018);
      if (offset <= 5) CHECK(result.caller.get(r15) == 0x5020);
      if (offset <= 7) CHECK(result.caller.get(rbp) == 0x5028);
      if (offset == 8) CHECK(result.caller.get(rbp) == 0xAA06);
    }
  }
  SECTION("immediates are sign-extended") {
    CHECK(at({0x48, 0x83, 0xC4, 0x80, 0xC3}).cfa == stack - 128 + 8); // add rsp, -128
    CHECK(at({0x48, 0x81, 0xC4, 0x00, 0xFF, 0xFF, 0xFF, 0xC3}).cfa == stack - 256 + 8);
  }
  SECTION("the forms of the end") {
    CHECK(at({0x5B, 0xC2, 0x10, 0x00}).cfa == stack + 16);             // ret imm
    CHECK(at({0x5B, 0xF3, 0xC3}).cfa == stack + 16);                   // rep ret
    CHECK(at({0x5B, 0xF2, 0xC3}).cfa == stack + 16);                   // bnd ret
    CHECK(at({0x5B, 0xFF, 0x25, 0, 0, 0, 0}).cfa == stack + 16);       // jmp [rip]
    CHECK(at({0x5B, 0x48, 0xFF, 0xE0}).cfa == stack + 16);             // rex.w jmp rax
    CHECK(at({0x5B, 0x49, 0xFF, 0x22}).cfa == stack + 16);             // rex.wb jmp [r10]
    CHECK(at({0x5B, 0xE9, 0x00, 0x10, 0x00, 0x00}).cfa == stack + 16); // jmp far away
    CHECK(at({0x5B, 0xE9, 0xBA, 0xFF, 0xFF, 0xFF}).cfa == stack + 16); // jmp own start
    CHECK(at({0x5B, 0xEB, 0x7F, 0x90}).cfa == stack + 16);             // short jump outside
  }
  SECTION("what is no epilogue") {
    CHECK(at({0x5B, 0xEB, 0x02, 0x90}).cfa == stack + 56);             // jmp within
    CHECK(at({0x5B, 0xE9, 0x00, 0x00, 0x00, 0x00}).cfa == stack + 56); // jmp within
    CHECK(at({0x5B, 0xFF, 0xE0}).cfa == stack + 56);                   // jmp rax: a switch
    CHECK(at({0x5B, 0x90, 0xC3}).cfa == stack + 56);
    CHECK(at({0x48, 0x83, 0xC0, 0x18, 0xC3}).cfa == stack + 56); // add rax
    // 60 pops are no epilogue
    Function f(info);
    for (Address n = 0; n < 60; ++n) f.memory.bytes(code + 8 + n, {0x5B});
    f.memory.bytes(code + 8 + 60, {0xC3});
    CHECK(f.unwind_at(code + 8, true).cfa == stack + 56);
  }
  SECTION("a return address is never inside one") {
    Function f(info);
    f.memory.bytes(ip, {0x5B, 0xC3});
    f.memory.erase(code, code_size);
    CHECK(f.unwind_at(ip, false).cfa == stack + 56);
    CHECK(f.memory.reads == 4);
  }
  SECTION("instructions that decide must be there") {
    Function f(info);
    f.memory.bytes(ip, {0x5B, 0x5D});
    f.memory.erase(ip + 2, code_size);
    check_missing([&] { f.unwind_at(ip, true); }, ip + 2);
  }
  SECTION("a jump to another part of the method stays inside") {
    Function f(info);
    f.memory.bytes(ip, {0xE9, 0x00, 0x10, 0x00, 0x00});
    Address asked = 0;
    const auto same = [&](Address target) {
      asked = target;
      return true;
    };
    CHECK(x64_frame_layout(f.memory, function, base, ip, true, same).cfa.offset == 56);
    CHECK(asked == ip + 0x1005);
  }
}

TEST_CASE("x64: epilogues that restore rsp from the frame register") {
  const auto info = {0x01u, 0x0Au, 0x03u, 0x05u, 0x0Au, 0x03u, 0x05u, 0x72u, 0x01u, 0x50u, 0u, 0u};
  constexpr Address ip = code + 0x40;
  Function f(info);
  f.context.set_fp(stack + 0x80);
  f.context.set_sp(stack - 0x4000);
  f.memory.bytes(ip, {0x48, 0x8D, 0x65, 0xF8, 0x5B, 0x5D, 0xC3}); // lea rsp, [rbp-8]; pop rbx; pop rbp; ret
  const Unwound result = f.unwind_at(ip, true);
  CHECK(result.cfa == stack + 0x80 - 8 + 24);
  CHECK(result.caller.get(rbx) == 0x5078);
  CHECK(result.caller.get(rbp) == 0x5080);
  f.memory.bytes(ip, {0x48, 0x8D, 0xA5, 0xF0, 0xFF, 0xFF, 0xFF, 0x5D, 0xC3}); // lea rsp, [rbp-16]
  CHECK(f.unwind_at(ip, true).cfa == stack + 0x80 - 16 + 16);
  f.memory.bytes(ip, {0x49, 0x8D, 0x65, 0xF8, 0x5D, 0xC3}); // lea rsp, [r13-8] is none
  CHECK(f.layout(ip, true).cfa == RegisterOffset{rbp, 0x40 + 16});
}

TEST_CASE("x64: decoded records") {
  Function f(
      {0x19, 0x08, 0x04, 0x00, 0x08, 0x22, 0x04, 0x30, 0x03, 0xF0, 0x01, 0x50, 0x44, 0x33, 0x22, 0x11});
  const X64UnwindInfo info = read_x64_unwind_info(f.memory, unwind);
  CHECK(f.memory.reads == 2);
  CHECK(info.version == 1);
  CHECK(info.flags == 3);
  CHECK(info.prolog_size == 8);
  REQUIRE(info.codes.size() == 4);
  CHECK(info.codes[0].prolog_offset == 8);
  CHECK(info.codes[0].op == X64UnwindOp::alloc_small);
  CHECK(info.codes[0].value == 0x18);
  CHECK(info.codes[2].op == X64UnwindOp::push_nonvol);
  CHECK(info.codes[2].info == 15);
  CHECK(info.handler == 0x11223344u);
  CHECK_FALSE(info.parent);
  // A missing handler does not matter.
  f.memory.erase(unwind + 12, 4);
  CHECK_FALSE(read_x64_unwind_info(f.memory, unwind).handler);
  CHECK(x64_dwarf_register(1) == 2);
}

TEST_CASE("x64: hostile records are refused") {
  const auto refuse = [](std::initializer_list<unsigned> info) {
    Function f(info);
    for (Address at = 0; at < 1024; ++at) f.memory.bytes(unwind + info.size() + at, {0xFF});
    check_corrupt([&] { f.layout(code + 0x20, false); });
  };
  refuse({0x00, 0, 0, 0});                      // version 0
  refuse({0x03, 0, 0, 0});                      // version 3
  refuse({0x01, 4, 1, 0, 4, 0x0C, 0, 0});       // operation 12
  refuse({0x01, 4, 1, 0, 4, 0x01, 0, 0});       // ALLOC_LARGE without its size
  refuse({0x01, 4, 2, 0, 4, 0x11, 0, 0});       // half of it
  refuse({0x01, 4, 1, 0, 4, 0x03, 0, 0});       // SET_FPREG without a register
  refuse({0x01, 4, 1, 0x04, 4, 0x03, 0, 0});    // SET_FPREG of rsp
  refuse({0x01, 4, 2, 0x05, 4, 0x50, 2, 0x03}); // rbp restored, then used
  refuse({0x01, 4, 255, 0, 4, 0x30});           // counts more than there is
  Function cut({0x01, 4, 2, 0, 4, 0x30});
  check_missing([&] { cut.layout(code, false); }, unwind + 6);
}

TEST_CASE("x64: a missing word of the stack") {
  Function f({0x01, 0x08, 0x04, 0x00, 0x08, 0x22, 0x04, 0x30, 0x03, 0xF0, 0x01, 0x50});
  SECTION("a saved register becomes unknown") {
    f.memory.erase(stack + 0x20, 8);
    const Unwound result = f.unwind_at(code + 8, false);
    CHECK_FALSE(result.caller.known(r15));
    CHECK(result.caller.get(rbx) == 0x5018);
    CHECK(result.caller.get(rbp) == 0x5028);
    CHECK(result.caller.pc() == 0x5030u);
  }
  SECTION("the return address is needed") {
    f.memory.erase(stack + 0x30, 8);
    check_missing([&] { f.unwind_at(code + 8, false); }, stack + 0x30);
  }
  SECTION("so is the register that the frame hangs on") {
    f.context.forget(rsp);
    CHECK_THROWS_WITH(f.unwind_at(code + 8, false), "register rsp is not known");
  }
}

TEST_CASE("x64: any failing read is a fault, never another caller") {
  struct Chained : Function {
    Chained()
        : Function({0x21, 0x00, 0x02, 0x05, 0x00, 0x34, 0x01, 0x00, 0x00, 0x01,
                    0,    0,    0x80, 0x01, 0,    0,    0x00, 0x20, 0x01, 0}) {
      memory.bytes(base + 0x12000, {0x01, 0x08, 0x03, 0x05, 0x08, 0x32, 0x04, 0x03, 0x01, 0x50, 0, 0});
      context.set_fp(stack + 0x20);
    }
  };
  Chained good;
  const Unwound expected = good.unwind_at(code + 0x10, true);
  const std::size_t reads = good.memory.reads;
  CHECK(reads == 7);
  for (std::size_t k = 0; k < reads; ++k) {
    CAPTURE(k);
    Chained f;
    f.memory.fail_at = k;
    try {
      const Unwound result = f.unwind_at(code + 0x10, true);
      // The block of stack slots is read again one by one.
      CHECK(k == reads - 1);
      CHECK(result.caller == expected.caller);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
      CHECK(error.address());
    }
  }
}
