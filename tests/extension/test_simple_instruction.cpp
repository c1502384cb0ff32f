// Instructions that the debugger does itself.
#include "extension/lldb/simple_instruction.h"

#include <catch2/catch.hpp>

#include <string_view>
#include <vector>

using namespace clr::lldb_plugin;
using Kind = SimpleInstruction::Kind;

namespace {
std::optional<SimpleInstruction> of(std::vector<std::uint8_t> code) {
  return simple_instruction(code);
}

bool moves(std::vector<std::uint8_t> code, std::string_view to, std::string_view from, bool half = false) {
  const auto found = of(code);
  return found && found->kind == Kind::move && found->size == code.size() && found->half == half &&
         general_registers[found->to] == to && general_registers[found->from] == from;
}

bool pushes(std::vector<std::uint8_t> code, std::string_view from) {
  const auto found = of(code);
  return found && found->kind == Kind::push && found->size == code.size() &&
         general_registers[found->from] == from;
}
} // namespace

TEST_CASE("simple instructions are told with their registers", "[simple_instruction]") {
  CHECK(moves({0x49, 0x89, 0xc5}, "r13", "rax")); // mov r13, rax
  CHECK(moves({0x48, 0x89, 0xe5}, "rbp", "rsp"));
  CHECK(moves({0x4c, 0x8b, 0xf0}, "r14", "rax")); // the other of the two encodings
  CHECK(moves({0x4d, 0x8b, 0xc7}, "r8", "r15"));
  CHECK(moves({0x89, 0xc3}, "rbx", "rax", true)); // mov ebx, eax
  CHECK(moves({0x41, 0x89, 0xc4}, "r12", "rax", true));
  CHECK(pushes({0x55}, "rbp"));
  CHECK(pushes({0x41, 0x57}, "r15"));
  CHECK(pushes({0x54}, "rsp"));
  CHECK(of({0x90, 0xcc})->size == 1);
  CHECK(of({0xf3, 0x0f, 0x1e, 0xfa})->size == 4);
  CHECK(of({0x90})->kind == Kind::nothing);
  CHECK(of({0xf3, 0x0f, 0x1e, 0xfa})->kind == Kind::nothing);
}

TEST_CASE("other instructions are not", "[simple_instruction]") {
  CHECK_FALSE(of({}));
  CHECK_FALSE(of({0x48}));                   // cut off
  CHECK_FALSE(of({0x48, 0x89}));             // cut off
  CHECK_FALSE(of({0xf3, 0x0f, 0x1e}));       // cut off
  CHECK_FALSE(of({0xf3, 0x90}));             // pause
  CHECK_FALSE(of({0x41, 0x90}));             // xchg r8d, eax
  CHECK_FALSE(of({0x66, 0x89, 0xc3}));       // mov bx, ax
  CHECK_FALSE(of({0x66, 0x50}));             // push ax
  CHECK_FALSE(of({0x88, 0xc3}));             // mov bl, al
  CHECK_FALSE(of({0x48, 0x89, 0x45, 0xf8})); // mov [rbp - 8], rax
  CHECK_FALSE(of({0x48, 0x8b, 0x00}));       // mov rax, [rax]
  CHECK_FALSE(of({0x85, 0xc0}));             // test eax, eax
  CHECK_FALSE(of({0x5d}));                   // pop rbp
  CHECK_FALSE(of({0xe8, 0, 0, 0}));          // call
  CHECK_FALSE(of({0xcc}));
}
