#include "core/isa/code_instructions.h"
#include "core/isa/x64/instruction.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

std::vector<std::byte> instruction_bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

} // namespace

TEST_CASE("x64 instructions end where the manual says") {
  const std::initializer_list<unsigned> instructions[] = {
      {0x90},                                                 // nop
      {0x55},                                                 // push rbp
      {0x41, 0x57},                                           // push r15
      {0xC3},                                                 // ret
      {0xC2, 0x08, 0x00},                                     // ret 8
      {0xCC},                                                 // int3
      {0xEB, 0x10},                                           // jmp rel8
      {0xE9, 1, 2, 3, 4},                                     // jmp rel32
      {0x66, 0xE8, 1, 2, 3, 4},                               // call rel32, with a prefix
      {0x0F, 0x84, 1, 2, 3, 4},                               // je rel32
      {0x74, 0x05},                                           // je rel8
      {0x48, 0x83, 0xEC, 0x30},                               // sub rsp, 48
      {0x48, 0x81, 0xC4, 0, 1, 0, 0},                         // add rsp, 256
      {0x48, 0x8D, 0x6C, 0x24, 0x30},                         // lea rbp, [rsp+48]
      {0x48, 0x8B, 0x05, 1, 2, 3, 4},                         // mov rax, [rip+disp32]
      {0x8B, 0x04, 0x25, 1, 2, 3, 4},                         // mov eax, [disp32]
      {0x8B, 0x44, 0x85, 0x10},                               // mov eax, [rbp+rax*4+16]
      {0x8B, 0x84, 0x24, 1, 2, 3, 4},                         // mov eax, [rsp+disp32]
      {0x48, 0xB8, 1, 2, 3, 4, 5, 6, 7, 8},                   // mov rax, imm64
      {0xB8, 1, 2, 3, 4},                                     // mov eax, imm32
      {0x66, 0xB8, 1, 2},                                     // mov ax, imm16
      {0x48, 0xC7, 0x45, 0xF8, 1, 2, 3, 4},                   // mov qword [rbp-8], imm32
      {0x66, 0xC7, 0x45, 0xF8, 1, 2},                         // mov word [rbp-8], imm16
      {0xC6, 0x00, 0x01},                                     // mov byte [rax], 1
      {0xF6, 0xC1, 0x01},                                     // test cl, 1
      {0xF6, 0xD9},                                           // neg cl
      {0xF7, 0xC1, 1, 2, 3, 4},                               // test ecx, imm32
      {0x66, 0xF7, 0xC1, 1, 2},                               // test cx, imm16
      {0x48, 0xF7, 0xF9},                                     // idiv rcx
      {0x69, 0xC0, 1, 2, 3, 4},                               // imul eax, eax, imm32
      {0x6B, 0xC0, 0x03},                                     // imul eax, eax, 3
      {0xFF, 0x15, 1, 2, 3, 4},                               // call [rip+disp32]
      {0x41, 0xFF, 0xD3},                                     // call r11
      {0x48, 0xFF, 0xE0},                                     // rex.w jmp rax
      {0x68, 1, 2, 3, 4},                                     // push imm32
      {0x6A, 1},                                              // push imm8
      {0x48, 0x63, 0xC8},                                     // movsxd
      {0x0F, 0x1F, 0x44, 0x00, 0x00},                         // nop
      {0x66, 0x66, 0x66, 0x0F, 0x1F, 0x84, 0x00, 0, 0, 0, 0}, // nop
      {0x0F, 0xB6, 0xC0},                                     // movzx
      {0x0F, 0xA2},                                           // cpuid
      {0x0F, 0x0B},                                           // ud2
      {0x0F, 0xC8},                                           // bswap
      {0x0F, 0xBA, 0xE0, 0x03},                               // bt eax, 3
      {0x0F, 0xA4, 0xC2, 0x03},                               // shld
      {0xF2, 0x0F, 0x10, 0x05, 1, 2, 3, 4},                   // movsd xmm0, [rip+disp32]
      {0x66, 0x0F, 0x73, 0xD8, 0x08},                         // psrldq
      {0x66, 0x0F, 0x38, 0x17, 0xC0},                         // ptest
      {0x66, 0x0F, 0x3A, 0x0F, 0xC1, 0x08},                   // palignr
      {0xF0, 0x48, 0x0F, 0xB1, 0x0A},                         // lock cmpxchg
      {0x64, 0x48, 0x8B, 0x04, 0x25, 0, 0, 0, 0},             // mov rax, fs:[0]
      {0xC5, 0xF8, 0x77},                                     // vzeroupper
      {0xC5, 0xFA, 0x6F, 0x07},                               // vmovdqu
      {0xC5, 0xF9, 0x70, 0xC0, 0x1B},                         // vpshufd
      {0xC5, 0xF8, 0xC6, 0xC0, 0x00},                         // vshufps
      {0xC4, 0xE2, 0x79, 0x18, 0x45, 0xF0},                   // vbroadcastss
      {0xC4, 0xE3, 0x7D, 0x39, 0xC1, 0x01},                   // vextracti128
      {0xC4, 0xE2, 0xFB, 0xF7, 0xC0},                         // shrx
      {0x62, 0xF1, 0xFE, 0x48, 0x6F, 0x05, 1, 2, 3, 4},       // vmovdqu64 zmm0, [rip+disp32]
      {0x62, 0xF3, 0x7D, 0x48, 0x25, 0xC0, 0xFF},             // vpternlogd
      {0x62, 0xF1, 0x7D, 0x48, 0x72, 0xE0, 0x05},             // vpsrad zmm0, zmm0, 5
      {0xA1, 1, 2, 3, 4, 5, 6, 7, 8},                         // mov eax, [imm64]
      {0x67, 0xA1, 1, 2, 3, 4},                               // mov eax, [imm32]
      {0xC8, 1, 2, 3},                                        // enter
      {0xF3, 0xC3},                                           // rep ret
      {0xF3, 0xA4},                                           // rep movsb
      {0xD9, 0x45, 0xF8},                                     // fld
      {0xD5, 0x19, 0x58},                                     // rex2 pop
      {0xD5, 0x80, 0xB6, 0xC0},                               // rex2 movzx
  };
  for (const auto& instruction : instructions) {
    std::vector<std::byte> bytes = instruction_bytes(instruction);
    CAPTURE(Catch::rangeToString(instruction));
    const auto size = static_cast<unsigned>(bytes.size());
    CHECK(x64_instruction_length(bytes) == size);
    bytes.resize(size + 20, std::byte{0xCC});
    CHECK(x64_instruction_length(bytes) == size);
    // An instruction that is cut off is none.
    for (unsigned part = 0; part < size; ++part)
      CHECK(x64_instruction_length(std::span(bytes).first(part)) == 0);
  }
}

TEST_CASE("what is no x64 instruction has no length") {
  for (const auto& bytes :
       {instruction_bytes({0x06, 0, 0}), instruction_bytes({0x62}),
        instruction_bytes({0x9A, 1, 2, 3, 4, 5, 6}), instruction_bytes({0x0F, 0x0F, 0xC0, 0x9E}),
        instruction_bytes({0xC4, 0xFF, 0, 0, 0, 0}), std::vector<std::byte>(40, std::byte{0x66}),
        std::vector<std::byte>()})
    CHECK(x64_instruction_length(bytes) == 0);
}

TEST_CASE("instructions of code are told apart function by function") {
  // push rbp; call rel32; call rax; (unknown) 06 ... and a second function: nop; ret
  const auto bytes =
      instruction_bytes({0x55, 0xE8, 0xC3, 0xC3, 0xC3, 0xC3, 0xFF, 0xD0, 0x06, 0x90, 0x90, 0xC3});
  HostMemory memory(bytes, 0x1000);
  const std::uint32_t begins[] = {0, 10};
  const CodeInstructions code(memory, Cpu::x64, 0x1000, 12, begins);
  const auto all = code.between(0, 12);
  CHECK(std::vector<std::uint32_t>(all.begin(), all.end()) == std::vector<std::uint32_t>{0, 1, 6, 10, 11});
  CHECK(code.begins_at(6));
  CHECK_FALSE(code.begins_at(2));
  CHECK_FALSE(code.begins_at(8));
  CHECK_FALSE(code.begins_at(9));
  CHECK(code.known(0, 8));
  CHECK_FALSE(code.known(0, 9));
  CHECK(code.known(10, 12));
  CHECK(code.calls(0, 2));
  CHECK_FALSE(code.calls(2, 6));
  CHECK(code.calls(6, 10));
  CHECK_FALSE(code.calls(10, 12));
}

TEST_CASE("arm64 instructions lie in fours; bl and blr call") {
  std::vector<std::byte> bytes = instruction_bytes({0xFD, 0x7B, 0xBF, 0xA9,   // stp
                                                    0x01, 0x00, 0x00, 0x94,   // bl
                                                    0x00, 0x00, 0x3F, 0xD6,   // blr x0
                                                    0x00, 0x00, 0x1F, 0xD6,   // br x0
                                                    0xC0, 0x03, 0x5F, 0xD6}); // ret
  HostMemory memory(bytes, 0x1000);
  const std::uint32_t begins[] = {0};
  const CodeInstructions code(memory, Cpu::arm64, 0x1000, 20, begins);
  CHECK(code.between(0, 20).size() == 5);
  CHECK(code.calls(4, 8));
  CHECK(code.calls(8, 12));
  CHECK_FALSE(code.calls(12, 20));
  CHECK_FALSE(code.begins_at(6));
}

TEST_CASE("code that is not whole is a fault at its first missing byte") {
  const auto bytes = instruction_bytes({0x90, 0x90});
  HostMemory memory(bytes, 0x1000);
  const std::uint32_t begins[] = {0};
  try {
    CodeInstructions(memory, Cpu::x64, 0x1000, 3, begins);
    FAIL("no fault");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::memory_missing);
    CHECK(error.address() == 0x1002);
  }
}
