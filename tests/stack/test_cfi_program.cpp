// Programs of call frame information that would make libdw take memory or time without an end, and lists of
// entries without one.
#include "core/memory/error.h"
#include "core/stack/cfi_entry.h"
#include "core/stack/cfi_program.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;

namespace {

using Program = std::vector<unsigned>;

std::vector<std::byte> bytes_of(const Program& program) {
  std::vector<std::byte> bytes;
  for (const unsigned value : program) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::uint64_t work_of(const Program& program, bool plain_addresses = false) {
  return work_of_cfi_program(bytes_of(program), plain_addresses);
}

std::string refusal_of(const Program& program, bool plain_addresses = false) {
  try {
    work_of(program, plain_addresses);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    return error.what();
  }
  return "none";
}

Program repeated(const Program& part, unsigned times) {
  Program all;
  for (; times != 0; --times) all.insert(all.end(), part.begin(), part.end());
  return all;
}

} // namespace

TEST_CASE("cfi program: each instruction is passed with its operands") {
  // A register behind it that is refused shows that the next instruction was found.
  const Program refused{0x07, 0xFE, 0xFF, 0xFF, 0x3F};
  const Program instructions[] = {{0x00},
                                  {0x41},
                                  {0x86, 2},
                                  {0x86, 0x82, 0x01},
                                  {0xC6},
                                  {0x02, 0x07},
                                  {0x03, 0x07, 0x07},
                                  {0x04, 0x07, 0x07, 0x07, 0x07},
                                  {0x1D, 7, 7, 7, 7, 7, 7, 7, 7},
                                  {0x05, 6, 0x81, 1},
                                  {0x06, 6},
                                  {0x07, 6},
                                  {0x08, 6},
                                  {0x09, 6, 7},
                                  {0x0A},
                                  {0x0B},
                                  {0x0C, 7, 8},
                                  {0x0D, 6},
                                  {0x0E, 0x80, 1},
                                  {0x0F, 3, 7, 7, 7},
                                  {0x10, 6, 2, 7, 7},
                                  {0x11, 6, 0x7F},
                                  {0x12, 7, 0x7F},
                                  {0x13, 0x7F},
                                  {0x14, 6, 1},
                                  {0x15, 6, 0x7F},
                                  {0x16, 6, 2, 7, 7},
                                  {0x2C},
                                  {0x2D},
                                  {0x2E, 0x80, 2},
                                  {0x2F, 6, 1}};
  for (Program program : instructions) {
    CAPTURE(program);
    CHECK(work_of(program) >= program.size());
    if (program.size() > 1) { // every operand must be there
      const Program cut(program.begin(), program.end() - 1);
      CHECK(refusal_of(cut) == "call frame information that ends too early");
    }
    program.insert(program.end(), refused.begin(), refused.end());
    CHECK(refusal_of(program) == "call frame information with register 134217726");
  }
  CHECK(work_of({0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6}) == 8); // nothing but its bytes
  CHECK(work_of({}) == 0);
}

TEST_CASE("cfi program: what is refused") {
  CHECK(refusal_of({0x07, 0xFF, 0x07}) == "none"); // register 1023
  for (const unsigned opcode : {0x05u, 0x06u, 0x07u, 0x08u, 0x09u, 0x0Cu, 0x0Du, 0x10u, 0x11u, 0x14u, 0x2Fu})
    CHECK(refusal_of({opcode, 0x80, 0x08, 0, 0}) == "call frame information with register 1024");
  CHECK(refusal_of({0x09, 6, 0x80, 0x08}) == "call frame information with register 1024");
  CHECK(refusal_of({0x17}) == "call frame information with the unknown instruction 0x17");
  CHECK(refusal_of({0x07, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}) ==
        "call frame information with a number of more than 10 bytes");
  CHECK(refusal_of({0x01, 0, 0, 0, 0, 0, 0, 0, 0}) ==
        "call frame information with an address that is no offset from the one before");
  CHECK(refusal_of({0x01, 0, 0, 0, 0, 0, 0, 0, 0}, true) == "none");
  CHECK(refusal_of({0x0F, 0x81, 0x20}) == "call frame information with an expression of 4097 bytes");
  CHECK_THAT(refusal_of(Program(max_cfi_program + 1)), Catch::Contains("a program of 1048577 bytes"));
}

TEST_CASE("cfi program: states that are remembered") {
  CHECK(refusal_of(repeated({0x0A}, 64)) == "none");
  CHECK(refusal_of(repeated({0x0A}, 65)) == "call frame information with more than 64 states that are "
                                            "remembered");
  // A function with many exits remembers one at a time.
  CHECK(refusal_of(repeated({0x0A, 0x0B}, 1'000)) == "none");
  // Each is a copy of as many registers as were named.
  CHECK(work_of({0x0A}) == 1 + 8);
  CHECK(work_of({0x07, 0xFF, 0x07, 0x0A}) == 4 + (64 + 1'024) / 8);
  CHECK(work_of({0x0F, 2, 0x77, 0x08}) == 4 + 2 * 32); // operations of an expression are kept
}

TEST_CASE("cfi entries: so many of a section are looked at") {
  // A common entry of plain addresses, and `count` functions of 16 bytes; the first has a wrong reference.
  constexpr std::size_t common_size = 4 + 12, size = 4 + 20;
  const auto list = [](std::size_t count) {
    std::vector<std::byte> bytes(common_size + count * size);
    const auto number = [&](std::size_t at, std::uint64_t value) {
      for (unsigned n = 0; n < 4; ++n) bytes[at + n] = static_cast<std::byte>(value >> (8 * n));
    };
    number(0, common_size - 4);
    number(8, 0x78'01'00'01); // version, no form, factors
    number(12, 16);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = common_size + i * size;
      number(at, size - 4);
      number(at + 4, i == 0 ? 0xFFFF'FFFF : at + 4);
      number(at + 8, 0x1000 + (count - i) * 16);
      number(at + 16, 16);
    }
    return list_cfi({.bytes = bytes, .address = 0x4000});
  };
  const CfiList all = list(max_listed_cfi), more = list(max_listed_cfi + 1);
  CHECK(all.whole);
  CHECK(all.functions.size() == max_listed_cfi - 1);
  CHECK(all.functions.front().begin == 0x1010);
  CHECK(all.functions.front().end == 0x1020);
  CHECK(all.functions.front().offset == common_size + (max_listed_cfi - 1) * size);
  CHECK_FALSE(more.whole);
  CHECK(more.functions.size() == max_listed_cfi - 1);
}
