// Instructions in the form that an assembler makes, and the addresses that they refer to.
#include "core/isa/code_reference.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace clr;
using Kind = CodeReference::Kind;

namespace {

constexpr Address at = 0x7F00'0000'1000;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

std::optional<CodeReference> x64(std::initializer_list<int> code) {
  return CodeReferences(Cpu::x64).next(at, bytes_of(code));
}

std::vector<std::byte> word(std::uint32_t value) {
  return bytes_of({static_cast<int>(value & 255), static_cast<int>(value >> 8 & 255),
                   static_cast<int>(value >> 16 & 255), static_cast<int>(value >> 24)});
}

} // namespace

TEST_CASE("x64 instructions that name an address", "[code_reference]") {
  CHECK(x64({0xE8, 0x10, 0, 0, 0}) == CodeReference{Kind::branch, at + 0x15, true});           // call
  CHECK(x64({0xE9, 0xFB, 0xFF, 0xFF, 0xFF}) == CodeReference{Kind::branch, at, true});         // jmp itself
  CHECK(x64({0xEB, 0xFE}) == CodeReference{Kind::branch, at, true});                           // short jmp
  CHECK(x64({0x75, 0x02}) == CodeReference{Kind::branch, at + 4, true});                       // jne
  CHECK(x64({0x0F, 0x84, 0x00, 0x01, 0, 0}) == CodeReference{Kind::branch, at + 0x106, true}); // je
  CHECK(x64({0xFF, 0x15, 0x20, 0, 0, 0}) == CodeReference{Kind::cell, at + 0x26, true}); // call [rip + 32]
  CHECK(x64({0xFF, 0x25, 0xE0, 0xFF, 0xFF, 0xFF}) ==
        CodeReference{Kind::cell, at - 0x1A, true});                                     // jmp [rip - 32]
  CHECK(x64({0x48, 0xFF, 0x25, 0, 0, 0, 0}) == CodeReference{Kind::cell, at + 7, true}); // rex.jmp [rip]
  CHECK(x64({0x48, 0x8B, 0x3D, 8, 0, 0, 0}) ==
        CodeReference{Kind::cell, at + 15, false}); // mov rdi, [rip + 8]
  CHECK(x64({0x48, 0x8D, 0x05, 8, 0, 0, 0}) ==
        CodeReference{Kind::constant, at + 15, false}); // lea rax, [rip + 8]
  CHECK(x64({0x49, 0xBB, 1, 2, 3, 4, 5, 6, 7, 8}) ==
        CodeReference{Kind::constant, 0x0807'0605'0403'0201, false}); // mov r11, imm64
}

TEST_CASE("x64 instructions that name none", "[code_reference]") {
  CHECK_FALSE(x64({}));
  CHECK_FALSE(x64({0x55}));                   // push rbp
  CHECK_FALSE(x64({0xC3}));                   // ret
  CHECK_FALSE(x64({0xFF, 0xD0}));             // call rax, of which nothing is known
  CHECK_FALSE(x64({0xFF, 0x50, 0x18}));       // call [rax + 24]
  CHECK_FALSE(x64({0xFF, 0x35, 0, 0, 0, 0})); // push [rip]
  CHECK_FALSE(x64({0x8B, 0x05, 0, 0, 0, 0})); // mov eax, [rip]: no pointer
  CHECK_FALSE(x64({0xB8, 1, 2, 3, 4}));       // mov eax, imm32
  CHECK_FALSE(x64({0xE8, 0x10}));             // cut short
  CHECK_FALSE(x64({0x48}));                   // a prefix alone
  CHECK_FALSE(CodeReferences(Cpu::arm).next(at, word(0xE8)));
}

TEST_CASE("x64: a constant is known to the very next instruction only", "[code_reference]") {
  const auto mov_r11 = bytes_of({0x49, 0xBB, 0, 0, 0x40, 0, 0, 0, 0, 0});
  const auto call_r11 = bytes_of({0x41, 0xFF, 0xD3}), call_cell_r11 = bytes_of({0x41, 0xFF, 0x13});
  const auto call_rbx = bytes_of({0xFF, 0xD3});
  CodeReferences references(Cpu::x64);
  references.next(at, mov_r11);
  CHECK(references.next(at + 10, call_r11) == CodeReference{Kind::branch, 0x40'0000, true});
  references.next(at, mov_r11);
  CHECK(references.next(at + 10, call_cell_r11) == CodeReference{Kind::cell, 0x40'0000, true});
  references.next(at, mov_r11);
  CHECK_FALSE(references.next(at + 10, call_rbx));
  CHECK_FALSE(references.next(at + 12, call_r11));
}

TEST_CASE("arm64 instructions that name an address", "[code_reference]") {
  const auto one = [](std::uint32_t code) { return CodeReferences(Cpu::arm64).next(at, word(code)); };
  CHECK(one(0x9400'0004) == CodeReference{Kind::branch, at + 16, true});    // bl
  CHECK(one(0x17FF'FFFF) == CodeReference{Kind::branch, at - 4, true});     // b
  CHECK(one(0x5400'0040) == CodeReference{Kind::branch, at + 8, true});     // b.eq
  CHECK(one(0xB4FF'FFE0) == CodeReference{Kind::branch, at - 4, true});     // cbz x0
  CHECK(one(0x3700'0040) == CodeReference{Kind::branch, at + 8, true});     // tbnz w0, #0
  CHECK(one(0x1000'0080) == CodeReference{Kind::constant, at + 16, false}); // adr x0
  CHECK_FALSE(one(0xD63F'0000));                                            // blr x0
  CHECK_FALSE(one(0xD65F'03C0));                                            // ret
  CHECK_FALSE(CodeReferences(Cpu::arm64).next(at, bytes_of({0, 0})));

  CodeReferences references(Cpu::arm64);
  SECTION("adrp x11; ldr x0, [x11, #24]") {
    CHECK_FALSE(references.next(at + 4, word(0xB000'000B))); // + 1 page
    CHECK(references.next(at + 8, word(0xF940'0D60)) == CodeReference{Kind::cell, at + 0x1018, false});
    CHECK_FALSE(references.next(at + 12, word(0xD63F'0000))); // what x0 holds is not known
  }
  SECTION("adrp x0; add x0, x0, #16; blr x0") {
    references.next(at, word(0x9000'0000));
    CHECK(references.next(at + 4, word(0x9100'4000)) == CodeReference{Kind::constant, at + 16, false});
    CHECK(references.next(at + 8, word(0xD63F'0000)) == CodeReference{Kind::branch, at + 16, true});
  }
  SECTION("movz, movk, movk; blr x1") {
    references.next(at, word(0xD28A'CF01));     // #0x5678
    references.next(at + 4, word(0xF2A2'4681)); // #0x1234, lsl 16
    CHECK(references.next(at + 8, word(0xF2C0'0FE1)) == CodeReference{Kind::constant, 0x7F'1234'5678, false});
    CHECK(references.next(at + 12, word(0xD63F'0020)) == CodeReference{Kind::branch, 0x7F'1234'5678, true});
  }
}
