#include "core/stack/cfi_module.h"
#include "core/stack/cfi_program.h"
#include "core/stack/native_unwinder.h"
#include "tests/stack/cfi_image.h"

#include <catch2/catch.hpp>

using namespace clr;
using test::Bytes;
using test::CfiImage;
using test::StackMemory;
using namespace clr::x64_register;

namespace {

constexpr Address stack = 0x7000'0000;

// An image with functions at base + 0x4000, + 0x4100, ..., a stack whose words tell their offsets, and
// registers.
struct Native {
  CfiImage image;
  StackMemory memory;
  RegisterContext context;

  explicit Native(std::vector<Bytes> functions, Cpu cpu = Cpu::x64, bool signal = false) : context(cpu) {
    image.cpu = cpu;
    Address at = function(0);
    for (Bytes& instructions : functions) {
      image.functions.push_back({at, 0x80, std::move(instructions), signal});
      at += 0x100;
    }
    image.write(memory);
    for (Address offset = 0; offset < 0x800; offset += 8) memory.u64(stack + offset, 0x5000 + offset);
    for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg) context.set(reg, 0xAA00 + reg);
    context.set_sp(stack);
    context.set_fp(stack + 0x100);
    context.set_pc(function(0) + 0x40);
  }

  static Address function(unsigned index) { return 0x40'4000 + index * 0x100; }
  NativeUnwinder unwinder(std::uint64_t size = 0x10000) {
    return NativeUnwinder(memory, {8, ByteOrder::little, context.cpu(), Os::unix_like},
                          {{.path = "lib.so", .base = image.base, .size = size}});
  }
  Unwound unwind(bool leaf = false) { return unwinder().unwind(context, leaf); }
};

} // namespace

TEST_CASE("native: a row of plain saves") {
  // after 1 byte: CFA = rsp + 16, rbp at CFA - 16; after 4: CFA = rbp + 16
  Native f({{0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x83, 3}});
  Unwound result = f.unwind();
  CHECK(result.found_by == FoundBy::cfi);
  CHECK(result.cfa == stack + 0x110);
  CHECK(result.caller.pc() == 0x5108u);
  CHECK(result.return_address_at == stack + 0x108);
  CHECK(result.caller.fp() == 0x5100u);
  CHECK(result.caller.get(rbx) == 0x50F8);
  CHECK(result.caller.get(r12) == 0xAA0C);
  CHECK_FALSE(result.caller.known(rax));
  CHECK_FALSE(result.interrupted);
  SECTION("positions in the prologue") {
    f.context.set_pc(Native::function(0));
    CHECK(f.unwind(true).cfa == stack + 8);
    f.context.set_pc(Native::function(0) + 1);
    CHECK(f.unwind(true).cfa == stack + 16);
    CHECK(f.unwind(true).caller.fp() == 0x5000u);
    f.context.set_pc(Native::function(0) + 4);
    CHECK(f.unwind(true).cfa == stack + 0x110);
  }
  SECTION("a return address means the call before it") {
    f.context.set_pc(Native::function(0) + 4);
    CHECK(f.unwind(false).cfa == stack + 16);
    // A call to a function that never returns, at the very end.
    f.context.set_pc(Native::function(0) + 0x80);
    CHECK(f.unwind(false).cfa == stack + 0x110);
  }
  SECTION("warm steps read the stack only") {
    NativeUnwinder unwinder = f.unwinder();
    unwinder.unwind(f.context, false);
    const std::size_t before = f.memory.reads;
    unwinder.unwind(f.context, false);
    CHECK(f.memory.reads == before + 1);
  }
  SECTION("the layout as a value") {
    const auto layout = f.unwinder().layout(Native::function(0) + 0x40);
    REQUIRE(layout);
    CHECK(layout->cfa == RegisterOffset{rbp, 16});
    CHECK(layout->offset_from_cfa(*layout->find(rip)) == -8);
    CHECK_FALSE(f.unwinder().layout(Native::function(7)));
  }
  SECTION("the layout of a frame, as its caller was found") {
    NativeUnwinder unwinder = f.unwinder();
    const Address pc = Native::function(0) + 4;
    CHECK(unwinder.layout(pc, true, FoundBy::cfi)->cfa == RegisterOffset{rbp, 16});
    CHECK(unwinder.layout(pc, false, FoundBy::cfi)->cfa == RegisterOffset{rsp, 16});
    // Where no row tells.
    const Address bare = Native::function(7);
    CHECK_FALSE(unwinder.layout(bare, true, FoundBy::cfi));
    CHECK(unwinder.layout(bare, true, FoundBy::frame_pointer)->cfa == RegisterOffset{rbp, 16});
    CHECK(unwinder.layout(bare, true, FoundBy::stub)->cfa == RegisterOffset{rsp, 8});
  }
}

TEST_CASE("native: where functions begin") {
  Native f(std::vector<Bytes>(3));
  NativeUnwinder unwinder = f.unwinder();
  CHECK(unwinder.function_start(Native::function(0)) == Native::function(0));
  CHECK(unwinder.function_start(Native::function(0) + 0xFF) == Native::function(0));
  CHECK(unwinder.function_start(Native::function(1)) == Native::function(1));
  CHECK(unwinder.function_start(Native::function(2) + 0x7F) == Native::function(2));
  CHECK_FALSE(unwinder.function_start(Native::function(0) - 1));
  CHECK_FALSE(unwinder.function_start(0x9000)); // of no module
  SECTION("a count that is larger than the table") {
    f.memory.u32(f.image.hdr() + 8, 0xFFFF'FFFF);
    CHECK_FALSE(
        f.unwinder().function_start(Native::function(1) + 5)); // such call frame information is refused
  }
  SECTION("a table in another form") {
    f.memory.bytes(f.image.hdr() + 3, {0xFF});
    CHECK_FALSE(f.unwinder().function_start(Native::function(1)));
  }
}

TEST_CASE("native: an image that is not linked at zero") {
  Native f({{0x0E, 32}});
  f.image.vaddr = 0x1'0000;
  f.image.write(f.memory);
  CHECK(f.unwind().cfa == stack + 32);
  CHECK(f.unwinder(0).module_at(f.image.base + 0xFFFF) != nullptr);
  CHECK(f.unwinder(0).module_at(f.image.base + 0x10000) == nullptr);
}

TEST_CASE("native: registers whose rule is not a save") {
  SECTION("undefined return address: the outermost function") {
    const Unwound result = Native({{0x07, 16}}).unwind();
    CHECK(result.outermost);
    CHECK_FALSE(result.caller.pc());
  }
  SECTION("undefined callee-saved register") {
    const Unwound result = Native({{0x07, 12}}).unwind();
    CHECK_FALSE(result.caller.known(r12));
    CHECK(result.caller.get(rbx) == 0xAA03);
  }
  SECTION("no rule at all: callee-saved registers keep their values") {
    for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
      const Unwound result = Native({{}}, cpu).unwind(true);
      for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg)
        if (is_callee_saved(cpu, reg) && reg != register_roles(cpu).fp)
          CHECK(result.caller.find(reg) == 0xAA00 + reg);
    }
  }
  SECTION("in another register") {
    const Unwound result = Native({{0x09, 3, 12}}).unwind();
    CHECK(result.caller.get(rbx) == 0xAA0C);
  }
  SECTION("a value, not a place") {
    const Unwound result = Native({{0x14, 3, 2}}).unwind(); // val_offset rbx, 2 * -8
    CHECK(result.caller.get(rbx) == stack + 8 - 16);
  }
}

TEST_CASE("native: expressions") {
  SECTION("a PLT entry: CFA = rsp + 8 + (rip & 15 >= 11) * 8") {
    Native f({{0x0F, 11, 0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22}});
    CHECK(f.unwind().cfa == stack + 8);
    f.context.set_pc(Native::function(0) + 0x4B);
    CHECK(f.unwind(true).cfa == stack + 16);
    CHECK(f.unwind(true).caller.pc() == 0x5008u);
  }
  SECTION("a signal trampoline reads the CFA and the registers from memory") {
    // CFA = [rsp + 0xA0]; rip at rsp + 0xA8; rax at rsp + 0x90
    Native f({{0x0F, 4, 0x77, 0xA0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xA8, 0x01, 0x10, 0, 3, 0x77, 0x90, 0x01}},
             Cpu::x64, true);
    const Unwound result = f.unwind(true);
    CHECK(result.cfa == 0x50A0);
    CHECK(result.caller.sp() == 0x50A0u);
    CHECK(result.caller.pc() == 0x50A8u);
    CHECK(result.caller.get(rax) == 0x5090);
    CHECK_FALSE(result.caller.known(rdx)); // the handler may have used it
    CHECK(result.interrupted);
    CHECK(result.return_address_at == stack + 0xA8);
  }
  SECTION("hostile ones end") {
    CHECK_THROWS_AS(Native({{0x0F, 3, 0x2F, 0xFD, 0xFF}}).unwind(), Error); // a jump to itself
    CHECK_THROWS_AS(Native({{0x0F, 1, 0x22}}).unwind(), Error);             // plus on an empty stack
    CHECK_THROWS_AS(Native({{0x0F, 3, 0x30, 0x30, 0x1B}}).unwind(), Error); // 0 / 0
    CHECK_THROWS_AS(Native({{0x0F, 1, 0x9C}}).unwind(), Error);             // the CFA by the CFA
    CHECK_THROWS_AS(Native({{0x0F, 1, 0x96, 0x0A}}).unwind(), Error);
    Bytes deep{0x0F, 0xC8, 0x01};
    deep.insert(deep.end(), 200, 0x31);
    CHECK_THROWS_AS(Native({deep}).unwind(), Error);
  }
}

TEST_CASE("native: arm64 rows, on any host") {
  // stp fp, lr, [sp, #-32]!: CFA = sp + 32, fp at -32, lr at -24; sign state toggles
  Native f({{0x2D, 0x41, 0x0E, 32, 0x9D, 4, 0x9E, 3, 0x93, 2}}, Cpu::arm64);
  f.memory.u64(stack + 8, 0x2A55'0000'0000'1234);
  const Unwound result = f.unwind();
  CHECK(result.cfa == stack + 32);
  CHECK(result.caller.pc() == 0x1234u);
  CHECK(result.caller.fp() == 0x5000u);
  CHECK(result.caller.get(19) == 0x5010);
  CHECK(result.caller.get(20) == 0xAA00 + 20); // not what SPARC means by 0x2D
  CHECK(result.caller.get(28) == 0xAA00 + 28);
  CHECK_FALSE(result.caller.known(30));
  f.context.set_pc(Native::function(0));
  f.context.set(30, 0x5678);
  const Unwound leaf = f.unwind(true);
  CHECK(leaf.caller.pc() == 0x5678u);
  CHECK(leaf.cfa == stack);
  // A frame that is not the innermost one has lost lr.
  f.context.forget(30);
  CHECK_THROWS_AS(f.unwinder().by_code(f.context, true), Error);
}

TEST_CASE("native: signal trampolines without call frame information") {
  SECTION("x64") {
    Native f({});
    f.memory.bytes(0x9000, {0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05});
    f.context.set_pc(0x9000);
    const Unwound result = f.unwind();
    CHECK(result.caller.get(8) == 0x5028);
    CHECK(result.caller.get(rdi) == 0x5000 + 40 + 64);
    CHECK(result.caller.get(rax) == 0x5000 + 40 + 13 * 8);
    CHECK(result.caller.sp() == 0x5000u + 40 + 15 * 8);
    CHECK(result.caller.pc() == 0x5000u + 40 + 16 * 8);
    CHECK(result.interrupted);
    CHECK(result.found_by == FoundBy::cfi);
    CHECK(f.unwinder().layout(0x9000, false, FoundBy::cfi)->interrupted);
  }
  SECTION("arm64") {
    Native f({}, Cpu::arm64);
    f.memory.bytes(0x9000, {0x68, 0x11, 0x80, 0xD2, 0x01, 0, 0, 0xD4});
    f.context.set_pc(0x9000);
    const Unwound result = f.unwind();
    CHECK(result.caller.get(0) == 0x5000 + 312);
    CHECK(result.caller.get(30) == 0x5000 + 312 + 240);
    CHECK(result.caller.sp() == 0x5000u + 312 + 248);
    CHECK(result.caller.pc() == 0x5000u + 312 + 256);
  }
}

TEST_CASE("native: what is done without call frame information") {
  Native f({{0x0E, 32}});
  const auto call = [&](Address return_address, std::initializer_list<unsigned> instruction) {
    f.memory.bytes(return_address - 8, {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
    f.memory.bytes(return_address - instruction.size(), instruction);
  };
  SECTION("a call through a bad pointer left its return address") {
    f.context.set_pc(0);
    f.memory.u64(stack, 0x9100);
    call(0x9100, {0xFF, 0xD0});
    const Unwound result = f.unwind(true);
    CHECK(result.found_by == FoundBy::stub);
    CHECK(result.caller.pc() == 0x9100u);
    CHECK(result.caller.sp() == stack + 8);
    CHECK(result.caller.get(rbx) == 0xAA03);
  }
  SECTION("a PLT entry without information: the return address is behind a call to it") {
    f.context.set_pc(Native::function(3) + 6);
    f.memory.u64(stack, 0x40'2000);
    f.memory.u64(stack + 0x108, 0x40'2000);
    call(0x40'2000, {0xE8, 0x00, 0x23, 0x00, 0x00}); // calls function(3)
    Unwound result = f.unwind(true);
    CHECK(result.found_by == FoundBy::stub);
    CHECK(result.caller.sp() == stack + 8);
    // Not a call to here: the frame pointer.
    call(0x40'2000, {0xE8, 0x00, 0x33, 0x00, 0x00});
    result = f.unwind(true);
    CHECK(result.found_by == FoundBy::frame_pointer);
    CHECK(result.caller.sp() == stack + 0x110);
  }
  SECTION("the frame pointer, if it leads behind a call") {
    f.context.set_pc(Native::function(3));
    f.memory.u64(stack + 0x108, 0x9100);
    call(0x9100, {0xE8, 1, 2, 3, 4});
    const Unwound result = f.unwind(true);
    CHECK(result.found_by == FoundBy::frame_pointer);
    CHECK(result.caller.pc() == 0x9100u);
    CHECK(result.caller.sp() == stack + 0x110);
    CHECK(result.caller.fp() == 0x5100u);
    CHECK_FALSE(result.caller.known(rbx));
  }
  SECTION("the frame pointer may lead into a module whose code is missing") {
    f.context.set_pc(Native::function(3));
    f.memory.u64(stack + 0x108, Native::function(0) + 5);
    CHECK(f.unwind(true).caller.pc() == Native::function(0) + 5);
  }
  SECTION("else there is no caller, and the text tells why") {
    f.context.set_pc(Native::function(3));
    try {
      f.unwind(true);
      FAIL("a caller out of thin air");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("no call frame information for 0x404300") != std::string::npos);
      CHECK(std::string(error.what()).find("0x5108") != std::string::npos);
    }
    f.context.set_fp(stack - 8);
    CHECK_THROWS_AS(f.unwind(true), Error);
    f.context.set_fp(stack + 4);
    CHECK_THROWS_AS(f.unwind(true), Error);
    f.context.forget(rbp);
    CHECK_THROWS_AS(f.unwind(true), Error);
  }
  SECTION("a frame pointer of zero is the outermost frame, as is a return address of zero") {
    f.context.set_pc(Native::function(3));
    f.context.set_fp(0);
    CHECK(f.unwind(true).outermost);
    f.context.set_pc(0);
    f.context.set_fp(stack);
    CHECK(f.unwind(false).outermost);
  }
  SECTION("missing stack memory is a fault, not a reason to guess") {
    f.memory.erase(stack + 24, 8);
    f.memory.u64(stack + 0x108, 0x9100);
    call(0x9100, {0xE8, 1, 2, 3, 4});
    try {
      f.unwind(true);
      FAIL("no fault");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
      CHECK(error.address() == stack + 24);
    }
  }
}

TEST_CASE("native: an arm64 routine without information") {
  Native f({}, Cpu::arm64);
  f.context.set_pc(Native::function(3) + 8);
  f.context.set(30, 0x40'4100);
  f.memory.u64(stack + 0x108, 0x40'4100);
  f.memory.u32(0x40'40FC, 0x9400'0081); // bl function(3)
  CHECK(f.unwind(true).found_by == FoundBy::stub);
  f.memory.u32(0x40'40FC, 0x9400'0101); // bl function(5)
  CHECK(f.unwind(true).found_by == FoundBy::frame_pointer);
}

TEST_CASE("native: what ends in a call instruction") {
  Native f({});
  NativeUnwinder unwinder = f.unwinder();
  const auto check = [&](std::initializer_list<unsigned> instruction) {
    f.memory.bytes(0x9100 - 8, {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
    f.memory.bytes(0x9100 - instruction.size(), instruction);
    return unwinder.follows_call(0x9100);
  };
  CHECK(check({0xE8, 0, 0, 0, 0}) == true);
  CHECK(check({0xFF, 0xD0}) == true);             // call rax
  CHECK(check({0x41, 0xFF, 0xD3}) == true);       // call r11
  CHECK(check({0xFF, 0x10}) == true);             // call [rax]
  CHECK(check({0xFF, 0x50, 0x18}) == true);       // call [rax+24]
  CHECK(check({0xFF, 0x14, 0x24}) == true);       // call [rsp]
  CHECK(check({0xFF, 0x54, 0x24, 8}) == true);    // call [rsp+8]
  CHECK(check({0xFF, 0x15, 0, 0, 0, 0}) == true); // call [rip+0]
  CHECK(check({0xFF, 0x90, 0, 1, 0, 0}) == true);
  CHECK(check({0xFF, 0x94, 0x24, 0, 1, 0, 0}) == true);
  CHECK(check({0xFF, 0x14, 0xC5, 0, 1, 0, 0}) == true); // call [rax*8+256]
  CHECK(check({0xFF, 0xE0}) == false);                  // jmp rax
  CHECK(check({0x90, 0x90}) == false);
  CHECK(check({0xFF, 0x15, 0, 0}) == false);
  f.memory.erase(0x90F0, 32);
  CHECK_FALSE(unwinder.follows_call(0x9100));
  CHECK_FALSE(unwinder.follows_call(3));
  Native arm64({}, Cpu::arm64);
  NativeUnwinder other = arm64.unwinder();
  for (const auto& [instruction, expected] : {std::pair{0x9400'0010u, true},
                                              {0x97FF'FFFFu, true},
                                              {0xD63F'0100u, true},
                                              {0xD73F'0901u, true},
                                              {0x1400'0010u, false},
                                              {0xD61F'0100u, false}}) {
    arm64.memory.u32(0x90FC, instruction);
    CHECK(other.follows_call(0x9100) == expected);
  }
}

TEST_CASE("native: modules that overlap or tell no size") {
  StackMemory memory;
  NativeUnwinder unwinder(memory, {8, ByteOrder::little, Cpu::x64, Os::unix_like},
                          {{.path = "inner", .base = 0x3000, .size = 0x1000},
                           {.path = "outer", .base = 0x1000, .size = 0x8000},
                           {.path = "nothing", .base = 0x20000, .size = 0}});
  CHECK(unwinder.module_at(0x1000)->path == "outer");
  CHECK(unwinder.module_at(0x3000)->path == "inner");
  CHECK(unwinder.module_at(0x4000)->path == "outer");
  CHECK(unwinder.module_at(0x8FFF)->path == "outer");
  CHECK(unwinder.module_at(0x9000) == nullptr);
  CHECK(unwinder.module_at(0xFFF) == nullptr);
  CHECK(unwinder.module_at(0x20010) == nullptr);
}

TEST_CASE("native: hostile modules give no caller and say why") {
  const auto why = [](const std::function<void(Native&)>& damage) {
    Native f({{0x0E, 32}});
    f.context.set_fp(stack + 4);
    damage(f);
    try {
      f.unwind(true);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no fault");
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    CAPTURE(text, part);
    CHECK(text.find(part) != std::string::npos);
  };
  contains(why([](Native& f) { f.memory.bytes(f.image.base, {'M', 'Z'}); }), "no ELF image");
  contains(why([](Native& f) { f.memory.bytes(f.image.base + 4, {ELFCLASS32}); }), "class");
  contains(why([](Native& f) { f.memory.u32(f.image.base + 54, 56 | 0xFFFF0000); }), "65535 program headers");
  contains(why([](Native& f) { f.memory.u64(f.image.base + 32, ~Address{0} - 100); }), "not available");
  contains(why([](Native& f) { f.memory.erase(f.image.base, 64); }), "0x400000 is not available");
  contains(why([](Native& f) { f.memory.u32(f.image.base + 64 + 56, PT_NOTE); }), "no .eh_frame_hdr");
  contains(why([](Native& f) { f.memory.bytes(f.image.hdr(), {9}); }), "unknown version");
  contains(why([](Native& f) { f.memory.bytes(f.image.hdr() + 1, {0xFF}); }), "unknown encoding");
  contains(why([](Native& f) { f.memory.u32(f.image.hdr() + 4, 0x7FFF'FFFF); }), "outside of its module");
  contains(why([](Native& f) { f.memory.u32(f.image.hdr() + 8, 0xFFFF'FFFF); }), "all frame information");
  contains(why([](Native& f) { f.memory.erase(f.image.eh_frame(), 1); }), "not available");
  contains(why([](Native& f) { f.memory.u64(f.image.base + 64 + 40, ~Address{0}); }),
           "beyond the address space");
}

TEST_CASE("native: any failing read is a fault, never another caller") {
  Native good({{0x0E, 32, 0x83, 3}});
  const Unwound expected = good.unwind(true);
  const std::size_t reads = good.memory.reads;
  CHECK(reads == 5);
  for (std::size_t k = 0; k < reads; ++k) {
    CAPTURE(k);
    Native f({{0x0E, 32, 0x83, 3}});
    f.memory.fail_at = k;
    try {
      const Unwound result = f.unwind(true);
      CHECK(result.caller == expected.caller);
    } catch (const Error& error) {
      CHECK_FALSE(std::string(error.what()).empty());
    }
  }
}

TEST_CASE("native: call frame information that would take all memory is refused before it is run") {
  const auto reason = [](Bytes instructions) {
    Native f({std::move(instructions)});
    CfiRoom room;
    const CfiModule module(f.memory, {8, ByteOrder::little, Cpu::x64, Os::unix_like}, f.image.base, room);
    CHECK(module.problem().empty());
    try {
      return std::string(module.row(Native::function(0) + 0x40) ? "a row" : "nothing");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(reason({0x0E, 32}) == "a row");
  CHECK(reason({0x07, 0xFE, 0xFF, 0xFF, 0x3F}) == "call frame information with register 134217726");
  CHECK(reason(Bytes(65, 0x0A)) == "call frame information with more than 64 states that are remembered");
  Bytes expression{0x0F, 0x80, 0xC0, 0x00};
  expression.resize(0x2004, 0x96);
  CHECK(reason(expression) == "call frame information with an expression of 8192 bytes");
}

TEST_CASE("native: rows of all modules together may take so much") {
  Native f({{0x0E, 32}});
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  CfiRoom room;
  const CfiModule module(f.memory, platform, f.image.base, room);
  const Address pc = Native::function(0) + 0x40;
  CHECK(module.row(pc));
  const std::uint64_t row = room.work;
  CHECK(row > 0);
  CHECK(row < 100);
  room.work = max_cfi_work - row;
  CHECK(module.row(pc));
  CHECK(room.work == max_cfi_work);
  CHECK_THROWS_WITH(module.row(pc), Catch::Contains("too much was looked up"));
  CHECK_FALSE(module.row(Native::function(5))); // described by nothing, and costs nothing
}

TEST_CASE("native: the unwind tables of all modules together have a limit") {
  Native f({{0x0E, 32}});
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  CfiRoom room;
  const CfiModule first(f.memory, platform, f.image.base, room);
  CHECK(first.problem().empty());
  const std::uint64_t size = max_cfi_bytes - room.bytes.left();
  CHECK(size > 0x1000);
  room.bytes.begin(size + size / 2);
  const CfiModule second(f.memory, platform, f.image.base, room),
      third(f.memory, platform, f.image.base, room);
  CHECK(second.problem().empty());
  CHECK(second.row(Native::function(0)));
  CHECK_THAT(third.problem(), Catch::Contains("of all modules is more than 268435456 bytes"));
  CHECK(third.end() == second.end()); // it is a module all the same
  CHECK_FALSE(third.row(Native::function(0)));
}

TEST_CASE("native: functions are found without a search table that can be used") {
  Native f({{0x0E, 32}, {0x0E, 48}});
  SECTION("none") {
    f.memory.bytes(f.image.hdr() + 2, {0xFF, 0xFF});
  }
  SECTION("out of order") {
    f.memory.u32(f.image.hdr() + 12, 0x7000'0000); // where the first function begins
  }
  NativeUnwinder unwinder = f.unwinder();
  CHECK(unwinder.layout(Native::function(0) + 0x40)->cfa == RegisterOffset{rsp, 32});
  CHECK(unwinder.layout(Native::function(1) + 0x7F)->cfa == RegisterOffset{rsp, 48});
  CHECK_FALSE(unwinder.layout(Native::function(1) + 0x80));
  CHECK_FALSE(unwinder.layout(Native::function(0) - 1));
}

TEST_CASE("native: of modules that lie within others the innermost owns an address") {
  StackMemory memory;
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  // Small ones within a large one, then many that each lie within the one before.
  constexpr unsigned count = 30'000;
  std::vector<LoadedModule> modules{{.path = "all", .base = 0x1000, .size = 0x1'0000'0000}};
  for (unsigned i = 0; i < count; ++i)
    modules.push_back({.path = "small", .base = 0x10'0000 + i * 0x1000, .size = 0x800});
  constexpr Address nest = 0x4000'0000, nest_size = count * Address{64};
  for (unsigned i = 0; i < count; ++i)
    modules.push_back({.path = "nested", .base = nest + i * 16, .size = nest_size - i * 32});
  NativeUnwinder unwinder(memory, platform, modules);
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Address small = 0x10'0000 + i * 0x1000;
    if (unwinder.module_at(small + 0x7FF)->base != small) ++wrong;
    if (unwinder.module_at(small + 0x800)->path != "all") ++wrong;
    // Module i ends at nest + nest_size - i * 16.
    if (unwinder.module_at(nest + nest_size - i * 16 - 1)->base != nest + i * 16) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(unwinder.module_at(nest + nest_size)->path == "all");
  CHECK(unwinder.module_at(0x1000 + Address{0x1'0000'0000}) == nullptr);
  CHECK(unwinder.module_at(0xFFF) == nullptr);
  CHECK(NativeUnwinder(memory, platform, {}).module_at(0x1000) == nullptr);
}
