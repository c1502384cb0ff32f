// A made-up image that contains a compiler's object. It is found by the runtime's pointer and by the code of
// getJit.
#include "core/execution/jit_entry.h"

#include "core/memory/error.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address base = 0x40'0000, size = 0x10000;
constexpr Address functions = base + 0x8000, object = base + 0x9000, compile = base + 0x1000;
constexpr Address manager = 0x20'0000;
const LoadedModule image{
    .path = "/x/libclrjit.so", .base = base, .size = size, .build_id = {}, .contract_descriptor = {}};

// The table and the object; a real table has some ten functions.
void write_compiler(MemoryBuilder& memory) {
  memory.at(functions).pointer(compile).pointer(compile + 0x40).pointer(compile + 0x80);
  memory.at(object).pointer(functions);
}

std::vector<std::byte> code_at(MemoryBuilder& memory, Address at, std::size_t count) {
  std::vector<std::byte> bytes(count);
  bytes.resize(memory.read_some(at, bytes));
  return bytes;
}

} // namespace

TEST_CASE("the runtime's pointer leads to compileMethod", "[jit_entry]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      MemoryBuilder memory(platform);
      write_compiler(memory);
      // Other words of a manager: a pointer into the image that is no object, one outside, numbers.
      memory.at(manager).pointer(base + 0x100).pointer(0x99'0000).pointer(7).pointer(object).pointer(0);
      memory.at(base + 0x100).pointer(base + 0x200);
      memory.at(base + 0x200).pointer(0).pointer(0).pointer(0);
      CHECK(compile_method_of_manager(memory, platform, manager, image) == compile);
    }
  }
}

TEST_CASE("a manager without a compiler has none", "[jit_entry]") {
  MemoryBuilder memory(Platform{});
  memory.at(manager).pointer(0).pointer(object); // and nothing is at the object
  CHECK_FALSE(compile_method_of_manager(memory, memory.platform(), manager, image));
  // A table whose third entry is no code.
  memory.at(functions).pointer(compile).pointer(compile).pointer(3);
  memory.at(object).pointer(functions);
  CHECK_FALSE(compile_method_of_manager(memory, memory.platform(), manager, image));
  CHECK_THROWS_AS(compile_method_of_manager(memory, memory.platform(), 0x77'0000, image), Error);
}

TEST_CASE("beyond its limit a manager is not searched", "[jit_entry]") {
  MemoryBuilder memory(Platform{});
  write_compiler(memory);
  MemoryCursor words = memory.at(manager);
  for (std::size_t i = 0; i < max_jit_manager_words; ++i) words.pointer(0);
  words.pointer(object);
  CHECK_FALSE(compile_method_of_manager(memory, memory.platform(), manager, image));
}

TEST_CASE("getJit of x64 names the compiler", "[jit_entry]") {
  Platform platform;
  platform.cpu = Cpu::x64;
  MemoryBuilder memory(platform);
  write_compiler(memory);
  const Address get_jit = base + 0x2000;
  // push rbp; mov rbp, rsp; xor eax, eax; cmp byte [rip + d], 0; lea rcx, [rip + d]; cmovne rax, rcx; pop
  // rbp; ret
  memory.at(get_jit)
      .bytes({0x55, 0x48, 0x89, 0xE5, 0x31, 0xC0, 0x80, 0x3D, 0xC3, 0xF5, 0x0D, 0x00, 0x00})
      .bytes({0x48, 0x8D, 0x0D})
      .u32(object - (get_jit + 20))
      .bytes({0x48, 0x0F, 0x45, 0xC1, 0x5D, 0xC3});
  const auto code = code_at(memory, get_jit, max_get_jit);
  CHECK(compile_method_of_export(memory, platform, get_jit, code, image) == compile);
  SECTION("cut before the address") {
    CHECK_FALSE(compile_method_of_export(memory, platform, get_jit, std::span(code).first(19), image));
  }
  SECTION("an address that is no object") {
    memory.at(object).pointer(0x99'0000);
    CHECK_FALSE(compile_method_of_export(memory, platform, get_jit, code, image));
  }
}

TEST_CASE("getJit of arm64 names the compiler", "[jit_entry]") {
  Platform platform;
  platform.cpu = Cpu::arm64;
  MemoryBuilder memory(platform);
  write_compiler(memory);
  const Address get_jit = base + 0x2000;
  static_assert((object & 0xFFF) == 0);
  const Address pages = (object >> 12) - (get_jit >> 12);
  memory.at(get_jit)
      .u32(0x9000'0000 | (pages & 3) << 29 | (pages >> 2) << 5) // adrp x0, object
      .u32(0x9100'0000)                                         // add x0, x0, #0
      .u32(0xD65F'03C0);                                        // ret
  const auto code = code_at(memory, get_jit, max_get_jit);
  CHECK(compile_method_of_export(memory, platform, get_jit, code, image) == compile);
  Platform other = platform;
  other.cpu = Cpu::riscv64;
  CHECK_FALSE(compile_method_of_export(memory, other, get_jit, code, image));
}
