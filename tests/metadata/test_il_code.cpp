// Bodies of methods in images, and their instructions.
#include "core/metadata/il_code.h"
#include "tests/support/faults.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

std::vector<IlInstruction> decode(std::initializer_list<unsigned> code) {
  return il_instructions(bytes_of(code));
}

// An image whose metadata are these bytes, so that they lie at a known RVA.
std::vector<std::byte> body(const Bytes& bytes) {
  Bytes metadata;
  append(metadata, bytes);
  metadata.resize(64);
  const Bytes file = pe_file(metadata, {});
  HostMemory memory(file, 0x1000);
  return il_code(PeImage(memory, 0x1000, false), pe_metadata_rva);
}

} // namespace

TEST_CASE("instructions have their operands", "[il]") {
  // ldarg.0; ldc.i4.s -2; ldc.i4 0x01020304; switch (2); ldc.i8; ldftn; ldloc 0x0102; ret
  const auto code =
      decode({0x02, 0x1f, 0xfe, 0x20, 4, 3, 2, 1, 0x45, 2,    0, 0, 0, 0, 0, 0,    0,    0, 0, 0,   0,
              0x21, 1,    2,    3,    4, 5, 6, 7, 8,    0xfe, 6, 5, 0, 0, 6, 0xfe, 0x0c, 2, 1, 0x2a});
  REQUIRE(code.size() == 8);
  CHECK(code[0].offset == 0);
  CHECK(code[1].operand == -2);
  CHECK(pushed_constant(code[1]) == -2);
  CHECK(code[2].operand == 0x01020304);
  CHECK(code[3].next == 21);
  CHECK(code[4].opcode == 0x21);
  CHECK(code[5].opcode == 0xfe06);
  CHECK(code[5].token() == 0x0600'0005);
  CHECK(code[6].operand == 0x0102);
  CHECK(code[7].offset == 40);
  CHECK(pushed_constant(decode({0x15}).front()) == -1);
  CHECK(pushed_constant(decode({0x1e}).front()) == 8);
  CHECK_FALSE(pushed_constant(code[0]));
}

TEST_CASE("what is cut or no instruction is refused", "[il]") {
  for (const auto& code :
       {bytes_of({0x28, 1, 2, 3}), bytes_of({0xfe}), bytes_of({0x45, 0xff, 0xff, 0xff, 0xff}),
        bytes_of({0x24}), bytes_of({0xfe, 0x30}), bytes_of({0xf0})})
    CHECK(fault_of([&] { il_instructions(code); })->kind() == ErrorKind::corrupt);
}

TEST_CASE("bodies have small and large headers", "[il]") {
  CHECK(body(bytes_of({0x0a, 0x16, 0x2a, 0xff})) == bytes_of({0x16, 0x2a}));
  CHECK(body(bytes_of({0x13, 0x30, 8, 0, 3, 0, 0, 0, 1, 0, 0, 0x11, 0x02, 0x16, 0x2a, 0xff})) ==
        bytes_of({0x02, 0x16, 0x2a}));
  for (const auto& bytes : {bytes_of({0x01}), bytes_of({0x13, 0x10, 8, 0, 3, 0, 0, 0}),
                            bytes_of({0x13, 0x30, 8, 0, 0xff, 0xff, 0xff, 0x7f})})
    CHECK(fault_of([&] { body(bytes); })->kind() == ErrorKind::corrupt);
}
