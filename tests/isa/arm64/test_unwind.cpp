#include "core/isa/arm64/unwind.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>

#include <functional>

using namespace clr;
using test::StackMemory;
namespace reg = clr::arm64_register;

namespace {

constexpr Address base = 0x10000, function = 0x20000, code = base + 0x100, stack = 0x7000'0000;
constexpr std::uint32_t unwind_rva = 0x11000;
constexpr Address unwind = base + unwind_rva;
constexpr std::uint32_t single_epilog = 1u << 21, handler = 1u << 20;

struct Function {
  StackMemory memory;
  RegisterContext context{Cpu::arm64};

  // `flags` are bits 18 to 26 of the header; the length is in instructions.
  explicit Function(const std::vector<unsigned>& codes, std::uint32_t flags = 0, std::uint32_t length = 64) {
    std::vector<unsigned> padded = codes;
    while (padded.size() % 4 != 0) padded.push_back(0xE3);
    memory.u32(function, 0x100);
    memory.u32(function + 4, unwind_rva);
    memory.u32(unwind, length | flags | static_cast<std::uint32_t>(padded.size() / 4) << 27);
    memory.block(unwind + 4, padded);
    for (unsigned n = 0; n < 33; ++n) context.set(n, 0xAA00 + n);
    context.set_sp(stack);
    for (Address at = 0; at < 0x1000; at += 8) memory.u64(stack + at, 0x5000 + at);
  }

  FrameLayout layout(std::int32_t instruction) {
    return arm64_frame_layout(memory, function, base,
                              code + static_cast<Address>(std::int64_t{instruction} * 4));
  }
};

// The layout in the body of a function with these codes.
FrameLayout body(std::vector<unsigned> codes) {
  codes.push_back(0xE4);
  return Function(codes).layout(40);
}

RegisterOffset sp(std::int64_t offset) {
  return {reg::sp, offset};
}
RegisterOffset fp(std::int64_t offset) {
  return {reg::fp, offset};
}
RegisterOffset where(const FrameLayout& layout, unsigned number) {
  const SavedRegister* saved = layout.find(number);
  return saved != nullptr ? saved->at : RegisterOffset{999, 0};
}

void check_kind(ErrorKind kind, const std::function<void()>& action) {
  try {
    action();
    FAIL("no fault");
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
  }
}

} // namespace

TEST_CASE("arm64: allocations") {
  CHECK(body({0x05}).cfa == sp(0x50));
  CHECK(body({0x1F}).cfa == sp(31 * 16));
  CHECK(body({0xC1, 0x02}).cfa == sp(0x102 * 16));
  CHECK(body({0xE0, 0x01, 0x02, 0x03}).cfa == sp(0x10203 * 16));
  CHECK(body({0xE0, 0x01, 0x02, 0x03, 0x01}).cfa == sp(0x10203 * 16 + 16));
}

TEST_CASE("arm64: saves of frame pointer and link register") {
  FrameLayout layout = body({0x43});
  CHECK(layout.cfa == sp(0));
  CHECK(where(layout, reg::fp) == sp(24));
  CHECK(where(layout, reg::lr) == sp(32));
  layout = body({0x83});
  CHECK(layout.cfa == sp(32));
  CHECK(where(layout, reg::fp) == sp(0));
  CHECK(where(layout, reg::lr) == sp(8));
  layout = body({0xBF});
  CHECK(layout.cfa == sp(512));
}

TEST_CASE("arm64: saves of general registers") {
  FrameLayout layout = body({0x24}); // save_r19r20_x
  CHECK(layout.cfa == sp(32));
  CHECK(where(layout, 19) == sp(0));
  CHECK(where(layout, 20) == sp(8));
  layout = body({0xC8, 0x82}); // save_regp x21, x22 at 16
  CHECK(layout.cfa == sp(0));
  CHECK(where(layout, 21) == sp(16));
  CHECK(where(layout, 22) == sp(24));
  layout = body({0xCA, 0x08}); // save_regp x27, x28 at 64
  CHECK(where(layout, 27) == sp(64));
  CHECK(where(layout, 28) == sp(72));
  layout = body({0xCC, 0x85}); // save_regp_x x21, x22, 48
  CHECK(layout.cfa == sp(48));
  CHECK(where(layout, 21) == sp(0));
  layout = body({0xD0, 0xC3}); // save_reg x22 at 24
  CHECK(where(layout, 22) == sp(24));
  CHECK(layout.saved.size() == 1);
  layout = body({0xD4, 0x41}); // save_reg_x x21, 16
  CHECK(layout.cfa == sp(16));
  CHECK(where(layout, 21) == sp(0));
  layout = body({0xD5, 0x01}); // x27
  CHECK(where(layout, 27) == sp(0));
  layout = body({0xD6, 0x42}); // save_lrpair x21, lr at 16
  CHECK(where(layout, 21) == sp(16));
  CHECK(where(layout, reg::lr) == sp(24));
  CHECK(layout.saved.size() == 2);
  layout = body({0xD7, 0x00}); // x27, lr
  CHECK(where(layout, 27) == sp(0));
}

TEST_CASE("arm64: saves of vector registers") {
  FrameLayout layout = body({0xD8, 0x82}); // d10, d11 at 16
  CHECK(where(layout, 64 + 10) == sp(16));
  CHECK(where(layout, 64 + 11) == sp(24));
  layout = body({0xDB, 0x83}); // d14, d15, pre-indexed 32
  CHECK(layout.cfa == sp(32));
  CHECK(where(layout, 64 + 14) == sp(0));
  layout = body({0xDC, 0x43}); // d9 at 24
  CHECK(where(layout, 64 + 9) == sp(24));
  CHECK(layout.saved.size() == 1);
  layout = body({0xDD, 0xC0}); // d15
  CHECK(where(layout, 64 + 15) == sp(0));
  layout = body({0xDE, 0x41}); // d10, pre-indexed 16
  CHECK(layout.cfa == sp(16));
  CHECK(where(layout, 64 + 10) == sp(0));
}

TEST_CASE("arm64: frame pointers") {
  FrameLayout layout = body({0xE1, 0x83}); // mov fp, sp; stp fp, lr, [sp, #-32]!
  CHECK(layout.cfa == fp(32));
  CHECK(where(layout, reg::fp) == fp(0));
  CHECK(where(layout, reg::lr) == fp(8));
  layout = body({0xE2, 0x03, 0x43, 0x06}); // add fp, sp, #24; stp fp, lr, [sp, #24]; sub sp, #96
  CHECK(layout.cfa == fp(72));
  CHECK(where(layout, reg::fp) == fp(0));
  check_kind(ErrorKind::corrupt, [] { body({0x43, 0xE1}); }); // fp was restored before it is used
  check_kind(ErrorKind::corrupt, [] { body({0x43, 0xE2, 0x01}); });
}

TEST_CASE("arm64: save_next continues a pair") {
  FrameLayout layout = body({0xE6, 0xC8, 0x02}); // x19, x20 at 16, then x21, x22
  CHECK(where(layout, 19) == sp(16));
  CHECK(where(layout, 20) == sp(24));
  CHECK(where(layout, 21) == sp(32));
  CHECK(where(layout, 22) == sp(40));
  CHECK(layout.saved.size() == 4);
  layout = body({0xE6, 0xE6, 0x26}); // three pairs, writeback 48
  CHECK(layout.cfa == sp(48));
  CHECK(where(layout, 24) == sp(40));
  CHECK(layout.saved.size() == 6);
  layout = body({0xE6, 0xD8, 0x00});
  CHECK(where(layout, 64 + 11) == sp(24));
  layout = body({0xE6, 0xE7, 0x40, 0x80}); // q0, q1, then q2, q3
  CHECK(where(layout, 64 + 3) == sp(48));
  for (const auto& wrong : std::vector<std::vector<unsigned>>{{0xE6, 0x05},
                                                              {0xE6, 0xE1},
                                                              {0xE6, 0xE3},
                                                              {0xE6},
                                                              {0xE6, 0xD0, 0x00},
                                                              {0xE6, 0xD6, 0x00},
                                                              {0xE6, 0xE7, 0x00, 0x00},
                                                              {0xE6, 0xE6, 0xCA, 0x08}})
    check_kind(ErrorKind::corrupt, [&] { body(wrong); });
}

TEST_CASE("arm64: any register") {
  FrameLayout layout = body({0xE7, 0x05, 0x03}); // x5 at 24
  CHECK(where(layout, 5) == sp(24));
  CHECK(layout.saved.size() == 1);
  layout = body({0xE7, 0x45, 0x03}); // x5, x6 at 48
  CHECK(where(layout, 5) == sp(48));
  CHECK(where(layout, 6) == sp(56));
  layout = body({0xE7, 0x25, 0x03}); // x5, writeback 64
  CHECK(layout.cfa == sp(64));
  CHECK(where(layout, 5) == sp(0));
  layout = body({0xE7, 0x65, 0x03}); // x5, x6, writeback 64
  CHECK(layout.cfa == sp(64));
  CHECK(where(layout, 6) == sp(8));
  layout = body({0xE7, 0x05, 0x43}); // d5 at 24
  CHECK(where(layout, 64 + 5) == sp(24));
  layout = body({0xE7, 0x45, 0x83}); // q5, q6 at 48
  CHECK(where(layout, 64 + 5) == sp(48));
  CHECK(where(layout, 64 + 6) == sp(64));
  layout = body({0xE7, 0x05, 0x83}); // q5 at 48
  CHECK(where(layout, 64 + 5) == sp(48));
  check_kind(ErrorKind::corrupt, [] { body({0xE7, 0x85, 0x03}); });
  check_kind(ErrorKind::corrupt, [] { body({0xE7, 0x05, 0xC3}); });
  check_kind(ErrorKind::corrupt, [] { body({0xE7, 0x5E, 0x00}); }); // lr and a 32nd register
}

TEST_CASE("arm64: codes without effect, and unknown ones") {
  CHECK(body({0xE3, 0x01}).cfa == sp(16));
  CHECK(body({0xE5, 0x01}).cfa == sp(16));
  CHECK(body({0xF8, 1, 0xF9, 1, 1, 0xFA, 1, 1, 1, 0xFB, 1, 1, 1, 1, 0xFD, 0xFE, 0xFF, 0x01}).cfa == sp(16));
  const FrameLayout layout = body({0x83, 0xFC});
  CHECK(layout.signed_return_address);
  CHECK(layout.cfa == sp(32));
  for (const unsigned wrong : {0xDFu, 0xEDu, 0xEEu, 0xF0u, 0xF7u})
    check_kind(ErrorKind::corrupt, [&] { body({wrong, 0}); });
  check_kind(ErrorKind::unsupported_contract, [] { body({0xEB}); });
}

TEST_CASE("arm64: frames that hold a whole context") {
  Function machine({0xE9, 0xE4});
  Unwound result = apply_layout(machine.memory, machine.layout(40), machine.context, FoundBy::unwind_info);
  CHECK(result.caller.sp() == 0x5000u);
  CHECK(result.caller.pc() == 0x5008u);
  CHECK(result.caller.get(reg::lr) == 0xAA00 + 30);
  CHECK(result.interrupted);
  Function context({0xEA, 0xE4});
  result = apply_layout(context.memory, context.layout(40), context.context, FoundBy::unwind_info);
  CHECK(result.caller.get(0) == 0x5008);
  CHECK(result.caller.get(28) == 0x50E8);
  CHECK(result.caller.fp() == 0x50F0u);
  CHECK(result.caller.get(reg::lr) == 0x50F8);
  CHECK(result.caller.sp() == 0x5100u);
  CHECK(result.caller.pc() == 0x5108u);
  Function trap({0xE8, 0xE4});
  result = apply_layout(trap.memory, trap.layout(40), trap.context, FoundBy::unwind_info);
  CHECK(result.caller.get(18) == 0x5130);
  CHECK(result.caller.get(19) == 0xAA00 + 19);
  CHECK(result.caller.fp() == 0x5140u);
  CHECK(result.caller.pc() == 0x5148u);
  CHECK(result.caller.sp() == 0x5098u);
  Function clear({0x01, 0xEC, 0xE4});
  result = apply_layout(clear.memory, clear.layout(40), clear.context, FoundBy::unwind_info);
  CHECK(result.caller.pc() == 0xAA00u + 30);
  CHECK(result.interrupted);
}

TEST_CASE("arm64: the caller of a leaf and of a frame") {
  Function leaf({0x01, 0xE4});
  Unwound result = apply_layout(leaf.memory, leaf.layout(40), leaf.context, FoundBy::unwind_info);
  CHECK(result.caller.pc() == 0xAA00u + 30);
  CHECK(result.caller.sp() == stack + 16);
  CHECK_FALSE(result.return_address_at);
  CHECK_FALSE(result.caller.known(reg::lr)); // the call overwrote it
  CHECK_FALSE(result.caller.known(18));
  CHECK(result.caller.get(19) == 0xAA00 + 19);
  Function framed({0x83, 0xFC, 0xE4});
  framed.memory.u64(stack + 8, 0x2A55'FFFF'0000'1234);
  result = apply_layout(framed.memory, framed.layout(40), framed.context, FoundBy::unwind_info);
  CHECK(result.caller.pc() == 0x0000'FFFF'0000'1234u);
  CHECK(result.return_address_at == stack + 8);
  CHECK(result.caller.fp() == 0x5000u);
}

TEST_CASE("arm64: every prologue position") {
  // pacibsp; stp fp, lr, [sp, #-48]!; stp x19, x20, [sp, #16]; str x21, [sp, #32]; mov fp, sp
  Function f({0xE1, 0xD0, 0x84, 0xC8, 0x02, 0x85, 0xFC, 0xE4});
  CHECK(f.layout(0).cfa == sp(0));
  CHECK(f.layout(0).saved.empty());
  CHECK_FALSE(f.layout(0).signed_return_address);
  CHECK(f.layout(1).signed_return_address);
  CHECK(f.layout(1).cfa == sp(0));
  CHECK(f.layout(2).cfa == sp(48));
  CHECK(f.layout(2).saved.size() == 2);
  CHECK(f.layout(3).saved.size() == 4);
  CHECK(f.layout(4).saved.size() == 5);
  CHECK(f.layout(4).cfa == sp(48));
  CHECK(f.layout(5).cfa == fp(48));
  CHECK(f.layout(63).cfa == fp(48));
  CHECK(f.memory.reads == 3 * 12);
}

TEST_CASE("arm64: save_next in the prologue") {
  // sub sp, #64; stp x19, x20; stp x21, x22
  Function f({0xE6, 0xC8, 0x02, 0x04, 0xE4});
  CHECK(f.layout(1).saved.empty());
  CHECK(f.layout(2).saved.size() == 2);
  CHECK(f.layout(3).saved.size() == 4);
}

TEST_CASE("arm64: a single epilogue at the end") {
  // Prologue: stp fp, lr, [sp, #-32]!; stp x19, x20, [sp, #16]; mov fp, sp. The epilogue starts at code 1:
  // ldp x19, x20; ldp fp, lr, [sp], #32; ret.
  Function f({0xE1, 0xC8, 0x02, 0x83, 0xE4}, single_epilog | 1u << 22, 20);
  CHECK(f.layout(16).cfa == fp(32));
  CHECK(f.layout(17).cfa == sp(32));
  CHECK(f.layout(17).saved.size() == 4);
  CHECK(f.layout(18).cfa == sp(32));
  CHECK(f.layout(18).saved.size() == 2);
  CHECK(f.layout(19).cfa == sp(0));
  CHECK(f.layout(19).saved.empty());
}

TEST_CASE("arm64: epilogue scopes and the long header") {
  const auto write = [](Function& f, bool with_handler) {
    // Extended header: two scopes, two words of codes.
    f.memory.u32(unwind, 40 | (with_handler ? handler : 0));
    f.memory.u32(unwind + 4, 2 | 2u << 16);
    f.memory.u32(unwind + 8, 10 | 1u << 22);  // epilogue at instruction 10, codes from 1
    f.memory.u32(unwind + 12, 20 | 3u << 22); // epilogue at instruction 20, codes from 3
    f.memory.bytes(unwind + 16, {0xE1, 0xC8, 0x02, 0x83, 0xE4, 0xE3, 0xE3, 0xE3, 0x78, 0x56, 0x34, 0x12});
  };
  Function f({});
  write(f, true);
  const Arm64UnwindInfo info = read_arm64_unwind_info(f.memory, unwind);
  CHECK(f.memory.reads == 2);
  CHECK(info.function_length == 160);
  REQUIRE(info.epilogs.size() == 2);
  CHECK(info.epilogs[1].start == 80);
  CHECK(info.epilogs[1].code_index == 3);
  CHECK(info.handler == 0x12345678u);
  CHECK(info.codes.size() == 8);
  CHECK(f.layout(9).cfa == fp(32));
  CHECK(f.layout(10).cfa == sp(32));
  CHECK(f.layout(11).saved.size() == 2);
  CHECK(f.layout(12).cfa == sp(0));
  CHECK(f.layout(13).cfa == fp(32));
  CHECK(f.layout(20).cfa == sp(32));
  CHECK(f.layout(20).saved.size() == 2);
  CHECK(f.layout(21).cfa == sp(0));
  CHECK(f.layout(22).cfa == fp(32));
  f.memory.erase(unwind + 24, 4); // the handler alone
  CHECK_FALSE(read_arm64_unwind_info(f.memory, unwind).handler);
  CHECK(f.layout(22).cfa == fp(32));
}

TEST_CASE("arm64: a fragment without a prologue of its own") {
  // end_c first: the fragment runs in the frame that its function set up.
  Function f({0xE5, 0xE1, 0x83, 0xE4});
  CHECK(f.layout(0).cfa == fp(32));
  CHECK(f.layout(30).cfa == fp(32));
  // With a prologue part of its own in front of end_c.
  Function g({0x01, 0xE5, 0xE1, 0x83, 0xE4});
  CHECK(g.layout(0).cfa == fp(32));
  CHECK(g.layout(0).saved.size() == 2);
  CHECK(g.layout(1).cfa == fp(32));
}

TEST_CASE("arm64: a fragment with epilogues only") {
  // mov sp, fp; ldp x19, x20, [sp, #16]; ldp fp, lr, [sp], #32; ret, behind a phantom prologue.
  Function f({0xE5, 0xE1, 0xC8, 0x02, 0x83, 0xE4}, single_epilog | 1u << 22, 20);
  CHECK(f.layout(0).cfa == fp(32));
  CHECK(f.layout(0).saved.size() == 4);
  CHECK(f.layout(15).cfa == fp(32));
  CHECK(f.layout(16).cfa == fp(32));
  CHECK(f.layout(17).cfa == sp(32));
  CHECK(f.layout(17).saved.size() == 4);
  CHECK(f.layout(18).saved.size() == 2);
  CHECK(f.layout(19).cfa == sp(0));
}

TEST_CASE("arm64: a fragment with neither prologue nor epilogue") {
  // Its epilogue index points to end_c: its last instruction is no return.
  Function f({0xE5, 0xE1, 0xC8, 0x02, 0x83, 0xE4}, single_epilog, 20);
  for (const std::int32_t n : {0, 10, 19}) {
    CHECK(f.layout(n).cfa == fp(32));
    CHECK(f.layout(n).saved.size() == 4);
  }
}

TEST_CASE("arm64: a fragment that saves registers of its own") {
  // stp x21, x22, [sp, #224] in a part of a function that has stp fp, lr, [sp, #-256]!;
  // stp x19, x20, [sp, #240]; mov fp, sp.
  Function f({0xC8, 0x9C, 0xE5, 0xE1, 0xC8, 0x1E, 0x9F, 0xE4}, single_epilog, 20);
  CHECK(f.layout(0).cfa == fp(256));
  CHECK(f.layout(0).saved.size() == 4);
  for (const std::int32_t n : {1, 10, 18}) {
    CHECK(f.layout(n).cfa == fp(256));
    CHECK(f.layout(n).saved.size() == 6);
    CHECK(where(f.layout(n), 21) == sp(224));
    CHECK(where(f.layout(n), 19) == fp(240));
  }
  // The epilogue is ldp x21, x22, [sp, #224] and one instruction more.
  CHECK(f.layout(18).saved.size() == 6);
  CHECK(f.layout(19).saved.size() == 4);
  CHECK(f.layout(19).cfa == fp(256));
}

TEST_CASE("arm64: an entry that names its function's entry") {
  // As at the parent's start.
  Function child({0xE1, 0x83, 0xE4});
  child.memory.u32(function + 4, 0x12000 + 3);
  child.memory.u32(base + 0x12000, 0x100);
  child.memory.u32(base + 0x12004, unwind_rva);
  CHECK(child.layout(30).cfa == sp(0));
  child.memory.u32(base + 0x12004, 0x12000 + 3);
  check_kind(ErrorKind::corrupt, [&] { child.layout(30); });
}

TEST_CASE("arm64: hostile records are refused") {
  check_kind(ErrorKind::corrupt, [] { Function({0xE4}, 1u << 18).layout(3); }); // version 1
  check_kind(ErrorKind::corrupt, [] { Function({0xE4}).layout(64); });          // behind the end
  check_kind(ErrorKind::corrupt, [] { Function({0xE4}).layout(-1); });
  check_kind(ErrorKind::corrupt, [] { Function({0xE3, 0xE3, 0xE3, 0xC0}).layout(3); }); // code cut
  check_kind(ErrorKind::corrupt, [] { Function({0xE3, 0xE3, 0xE0, 0x01}).layout(3); });
  CHECK(Function({0x01, 0x01, 0x01, 0x01}).layout(40).cfa == sp(64)); // no end needed
  // 65,535 epilogues in 64 instructions
  Function lying({});
  lying.memory.u32(unwind, 64);
  lying.memory.u32(unwind + 4, 0xFFFF | 1u << 16);
  check_kind(ErrorKind::corrupt, [&] { lying.layout(3); });
  CHECK(lying.memory.reads == 2);
  // An epilogue index behind the codes is no epilogue.
  CHECK(Function({0x01, 0xE4}, single_epilog | 31u << 22, 64).layout(63).cfa == sp(16));
  Function cut({0x01, 0xE4});
  cut.memory.erase(unwind + 6, 1);
  check_kind(ErrorKind::memory_missing, [&] { cut.layout(3); });
}

TEST_CASE("arm64: epilogues that share their codes") {
  // `count` scopes, one every `step` instructions, whose codes begin one byte behind those of the one before.
  constexpr std::uint32_t code_words = 255, code_bytes = 4 * code_words, length = 0x3FFFF;
  const auto write = [&](Function& f, std::uint32_t count, std::uint32_t step) {
    f.memory.u32(unwind, length);
    f.memory.u32(unwind + 4, count | code_words << 16);
    for (std::uint32_t n = 0; n < count; ++n)
      f.memory.u32(unwind + 8 + Address{4} * n, (2000 + n * step) | (n % code_bytes) << 22);
    f.memory.block(unwind + 8 + Address{4} * count, std::vector<unsigned>(code_bytes, 0x01)); // alloc 16
  };
  Function f({});
  write(f, max_arm64_epilogs, 0);
  const Arm64UnwindInfo info = read_arm64_unwind_info(f.memory, unwind);
  REQUIRE(info.epilogs.size() == max_arm64_epilogs);
  CHECK(info.epilogs[0].size == code_bytes);
  CHECK(info.epilogs[1].size == code_bytes - 1);
  CHECK(info.epilogs[code_bytes - 1].size == 1);
  // The prologue and what is behind it, then the longest epilogue, its return and what is behind that.
  const std::vector<std::uint32_t> changes = arm64_layout_changes(info);
  CHECK(changes.size() == code_bytes + 1 + code_bytes + 2);
  CHECK(changes[code_bytes] == 4 * code_bytes);
  CHECK(changes[code_bytes + 1] == 4 * 2000);
  CHECK(f.layout(2000 + 3).cfa == sp((code_bytes - 3) * 16));

  write(f, max_arm64_epilogs, 8);
  const Arm64UnwindInfo long_one = read_arm64_unwind_info(f.memory, unwind);
  check_kind(ErrorKind::corrupt, [&] { arm64_layout_changes(long_one); });
  write(f, max_arm64_epilogs + 1, 8);
  check_kind(ErrorKind::corrupt, [&] { read_arm64_unwind_info(f.memory, unwind); });
}

TEST_CASE("arm64: the size of an epilogue is that of its codes, unless they are damaged") {
  const auto size = [](std::vector<unsigned> codes, std::uint32_t first) {
    while (codes.size() % 4 != 0) codes.push_back(0xE3);
    Function f({});
    f.memory.u32(unwind, 100);
    f.memory.u32(unwind + 4, 1 | static_cast<std::uint32_t>(codes.size() / 4) << 16);
    f.memory.u32(unwind + 8, 10 | first << 22);
    f.memory.block(unwind + 12, codes);
    return read_arm64_unwind_info(f.memory, unwind).epilogs.at(0).size;
  };
  CHECK(size({0xE1, 0xC8, 0x02, 0x83, 0xE4}, 1) == 2u);
  CHECK(size({0x01, 0xE5, 0x01, 0x01, 0xE4}, 0) == 1u); // up to end_c
  CHECK_FALSE(size({0x01, 0xE5, 0xEE, 0xE4}, 0));       // what is behind it is damaged
  CHECK_FALSE(size({0x01, 0xE7, 0x80, 0x00, 0xE4}, 0)); // a register of unknown form
  CHECK(size({0x01, 0xE7, 0x80, 0x00, 0xE4}, 4) == 0u); // that is not one of its codes
  CHECK_FALSE(size({0x01, 0x01, 0x01, 0xC0}, 0));       // cut
  CHECK(size({0x01, 0x01, 0x01, 0x01}, 1) == 3u);       // no end needed
  CHECK_FALSE(size({0x01, 0x01, 0x01, 0xE4}, 4));       // behind the codes
}

TEST_CASE("arm64: any failing read is a fault") {
  Function good({0xE1, 0xC8, 0x02, 0x83, 0xE4});
  good.context.set_fp(stack);
  const Unwound expected = apply_layout(good.memory, good.layout(40), good.context, FoundBy::unwind_info);
  const std::size_t reads = good.memory.reads;
  CHECK(reads == 4);
  for (std::size_t k = 0; k < reads; ++k) {
    CAPTURE(k);
    Function f({0xE1, 0xC8, 0x02, 0x83, 0xE4});
    f.context.set_fp(stack);
    f.memory.fail_at = k;
    try {
      const Unwound result = apply_layout(f.memory, f.layout(40), f.context, FoundBy::unwind_info);
      CHECK(k == reads - 1);
      CHECK(result.caller == expected.caller);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
    }
  }
}
