// The packed form of arm64 unwind data. The expected values follow from the canonical prologue and epilogue
// in Microsoft's ARM64 exception handling document, instruction by instruction.
#include "core/isa/arm64/packed_unwind.h"
#include "core/isa/unwind_record.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>

using namespace clr;
using test::StackMemory;

namespace {

constexpr Address base = 0x10000, function = 0x20000, code = base + 0x100;

struct Packed {
  unsigned flag = 1;    // 1: prologue and epilogue, 2: fragment
  unsigned length = 40; // instructions
  unsigned reg_f = 0, reg_i = 0, home = 0, cr = 0;
  unsigned frame = 0; // bytes

  std::uint32_t word() const {
    return flag | length << 2 | reg_f << 13 | reg_i << 16 | home << 20 | cr << 21 | frame / 16 << 23;
  }
};

// "sp+32 x19-32 x20-24": the CFA, then each saved register and its place from the CFA.
std::string text(const FrameLayout& layout) {
  const auto name = [](unsigned reg) {
    return reg >= 64 ? fmt::format("d{}", reg - 64) : std::string(register_name(Cpu::arm64, reg));
  };
  std::string line = layout.signed_return_address ? "signed " : "";
  line += fmt::format("{}{:+}", name(layout.cfa.reg), layout.cfa.offset);
  std::vector<SavedRegister> saved = layout.saved;
  std::ranges::sort(saved, {}, &SavedRegister::reg);
  for (const SavedRegister& one : saved)
    line += fmt::format(" {}{:+}", name(one.reg), layout.offset_from_cfa(one).value_or(9999));
  return line;
}

std::string at(const Packed& packed, unsigned instruction) {
  StackMemory memory;
  memory.u32(function, 0x100);
  memory.u32(function + 4, packed.word());
  return text(arm64_frame_layout(memory, function, base, code + Address{instruction} * 4));
}

using Lines = std::vector<std::string>;

// Before each instruction of the prologue, and in the body behind it.
void check_prologue(const Packed& packed, const Lines& expected) {
  for (unsigned n = 0; n < expected.size(); ++n) {
    CAPTURE(n);
    CHECK(at(packed, n) == expected[n]);
  }
  CHECK(at(packed, static_cast<unsigned>(expected.size())) == expected.back());
}

// Before each instruction of the epilogue, the return last; the body in front of it.
void check_epilogue(const Packed& packed, const Lines& expected) {
  const auto first = packed.length - static_cast<unsigned>(expected.size());
  for (unsigned n = 0; n < expected.size(); ++n) {
    CAPTURE(n);
    CHECK(at(packed, first + n) == expected[n]);
  }
  CHECK(at(packed, first - 1) == at(packed, packed.length / 2));
}

Lines codes(const Packed& packed, std::uint32_t first = 0) {
  Lines lines;
  for (const Arm64UnwindCode& one : decode_arm64_codes(expand_arm64_packed(packed.word(), 0), first))
    lines.emplace_back(to_string(one.op));
  return lines;
}

void check_corrupt(const Packed& packed, Address where = function + 4) {
  try {
    at(packed, 3);
    FAIL("no fault");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(error.address() == where);
  }
}

} // namespace

TEST_CASE("arm64 packed: the fields of the word", "[stack][packed]") {
  const Arm64PackedUnwindData data = parse_arm64_packed(
      Packed{.flag = 2, .length = 0x555, .reg_f = 5, .reg_i = 9, .home = 1, .cr = 2, .frame = 0x1550}.word());
  CHECK(data.fragment);
  CHECK(data.function_length == 0x555 * 4);
  CHECK(data.vectors == 6);
  CHECK(data.generals == 9);
  CHECK(data.homes_parameters);
  CHECK(data.chain == Arm64PackedUnwindData::Chain::chained_signed);
  CHECK(data.frame_size == 0x1550);
  CHECK_FALSE(parse_arm64_packed(1).fragment);
  CHECK(parse_arm64_packed(1).vectors == 0);
  CHECK(parse_arm64_packed(0xFFFF'FFFD).frame_size == 8176);
}

TEST_CASE("arm64 packed: a leaf without a frame", "[stack][packed]") {
  check_prologue({}, {"sp+0"});
  check_epilogue({}, {"sp+0"});
}

TEST_CASE("arm64 packed: locals only", "[stack][packed]") {
  // sub sp, sp, #496 / #512: the short and the long code of an allocation
  for (const unsigned frame : {16u, 496u, 512u, 4080u}) {
    CAPTURE(frame);
    const std::string body = fmt::format("sp+{}", frame);
    check_prologue({.frame = frame}, {"sp+0", body});
    check_epilogue({.frame = frame}, {body, "sp+0"});
    CHECK(codes({.frame = frame}) == Lines{"alloc", "end"});
  }
  // Beyond 4080 bytes: sub sp, sp, #4080; sub sp, sp, #16
  check_prologue({.frame = 4096}, {"sp+0", "sp+4080", "sp+4096"});
  check_epilogue({.frame = 4096}, {"sp+4096", "sp+4080", "sp+0"});
  check_prologue({.frame = 8176}, {"sp+0", "sp+4080", "sp+8160", "sp+8176"});
}

TEST_CASE("arm64 packed: fp and lr", "[stack][packed]") {
  // stp fp, lr, [sp, #-512]!; mov fp, sp. The epilogue has no mov.
  check_prologue({.cr = 3, .frame = 512}, {"sp+0", "sp+512 fp-512 lr-504", "fp+512 fp-512 lr-504"});
  check_epilogue({.cr = 3, .frame = 512}, {"sp+512 fp-512 lr-504", "sp+0"});
  // sub sp, sp, #528; stp fp, lr, [sp]; add fp, sp, #0
  check_prologue({.cr = 3, .frame = 528}, {"sp+0", "sp+528", "sp+528 fp-528 lr-520", "fp+528 fp-528 lr-520"});
  check_epilogue({.cr = 3, .frame = 528}, {"sp+528 fp-528 lr-520", "sp+528", "sp+0"});
  // sub sp, sp, #4080; sub sp, sp, #32; stp fp, lr, [sp]; add fp, sp, #0
  check_prologue({.cr = 3, .frame = 4112},
                 {"sp+0", "sp+4080", "sp+4112", "sp+4112 fp-4112 lr-4104", "fp+4112 fp-4112 lr-4104"});
  check_epilogue({.cr = 3, .frame = 4112}, {"sp+4112 fp-4112 lr-4104", "sp+4112", "sp+4080", "sp+0"});
}

TEST_CASE("arm64 packed: a signed return address", "[stack][packed]") {
  // pacibsp; stp x19, x20, [sp, #-16]!; stp fp, lr, [sp, #-16]!; mov fp, sp
  const Packed packed{.reg_i = 2, .cr = 2, .frame = 32};
  check_prologue(packed, {"sp+0", "signed sp+0", "signed sp+16 x19-16 x20-8",
                          "signed sp+32 x19-16 x20-8 fp-32 lr-24", "signed fp+32 x19-16 x20-8 fp-32 lr-24"});
  // ldp fp, lr, [sp], #16; ldp x19, x20, [sp], #16; autibsp; ret
  check_epilogue(
      packed, {"signed sp+32 x19-16 x20-8 fp-32 lr-24", "signed sp+16 x19-16 x20-8", "signed sp+0", "sp+0"});
}

TEST_CASE("arm64 packed: general registers", "[stack][packed]") {
  // str x19, [sp, #-16]!
  check_prologue({.reg_i = 1, .frame = 16}, {"sp+0", "sp+16 x19-16"});
  check_epilogue({.reg_i = 1, .frame = 16}, {"sp+16 x19-16", "sp+0"});
  // stp x19, x20, [sp, #-32]!; str x21, [sp, #16]; sub sp, sp, #64
  const Packed three{.reg_i = 3, .frame = 96};
  check_prologue(three,
                 {"sp+0", "sp+32 x19-32 x20-24", "sp+32 x19-32 x20-24 x21-16", "sp+96 x19-32 x20-24 x21-16"});
  check_epilogue(three,
                 {"sp+96 x19-32 x20-24 x21-16", "sp+32 x19-32 x20-24 x21-16", "sp+32 x19-32 x20-24", "sp+0"});
  // All ten, then fp and lr.
  const Packed ten{.reg_i = 10, .cr = 3, .frame = 96};
  check_prologue(ten,
                 {"sp+0", "sp+80 x19-80 x20-72", "sp+80 x19-80 x20-72 x21-64 x22-56",
                  "sp+80 x19-80 x20-72 x21-64 x22-56 x23-48 x24-40",
                  "sp+80 x19-80 x20-72 x21-64 x22-56 x23-48 x24-40 x25-32 x26-24",
                  "sp+80 x19-80 x20-72 x21-64 x22-56 x23-48 x24-40 x25-32 x26-24 x27-16 x28-8",
                  "sp+96 x19-80 x20-72 x21-64 x22-56 x23-48 x24-40 x25-32 x26-24 x27-16 x28-8 fp-96 lr-88",
                  "fp+96 x19-80 x20-72 x21-64 x22-56 x23-48 x24-40 x25-32 x26-24 x27-16 x28-8 fp-96 lr-88"});
}

TEST_CASE("arm64 packed: lr without fp", "[stack][packed]") {
  // str lr, [sp, #-16]!
  check_prologue({.cr = 1, .frame = 16}, {"sp+0", "sp+16 lr-16"});
  // sub sp, sp, #16; stp x19, lr, [sp]: this pair cannot make room
  check_prologue({.reg_i = 1, .cr = 1, .frame = 16}, {"sp+0", "sp+16", "sp+16 x19-16 lr-8"});
  check_epilogue({.reg_i = 1, .cr = 1, .frame = 16}, {"sp+16 x19-16 lr-8", "sp+16", "sp+0"});
  // stp x19, x20, [sp, #-32]!; str lr, [sp, #16]; sub sp, sp, #16
  check_prologue({.reg_i = 2, .cr = 1, .frame = 48},
                 {"sp+0", "sp+32 x19-32 x20-24", "sp+32 x19-32 x20-24 lr-16", "sp+48 x19-32 x20-24 lr-16"});
  // stp x19, x20, [sp, #-32]!; stp x21, lr, [sp, #16]
  check_prologue({.reg_i = 3, .cr = 1, .frame = 32},
                 {"sp+0", "sp+32 x19-32 x20-24", "sp+32 x19-32 x20-24 x21-16 lr-8"});
  // With the vector registers behind: sub sp, sp, #32; stp x19, lr, [sp]; stp d8, d9, [sp, #16]
  check_prologue({.reg_f = 1, .reg_i = 1, .cr = 1, .frame = 32},
                 {"sp+0", "sp+32", "sp+32 x19-32 lr-24", "sp+32 x19-32 lr-24 d8-16 d9-8"});
}

TEST_CASE("arm64 packed: vector registers", "[stack][packed]") {
  // stp d8, d9, [sp, #-32]!; str d10, [sp, #16]
  check_prologue({.reg_f = 2, .frame = 32}, {"sp+0", "sp+32 d8-32 d9-24", "sp+32 d8-32 d9-24 d10-16"});
  check_epilogue({.reg_f = 2, .frame = 32}, {"sp+32 d8-32 d9-24 d10-16", "sp+32 d8-32 d9-24", "sp+0"});
  // stp x19, x20, [sp, #-48]!; str x21, [sp, #16]; stp d8, d9, [sp, #24]
  check_prologue({.reg_f = 1, .reg_i = 3, .frame = 48},
                 {"sp+0", "sp+48 x19-48 x20-40", "sp+48 x19-48 x20-40 x21-32",
                  "sp+48 x19-48 x20-40 x21-32 d8-24 d9-16"});
  // All eight.
  CHECK(at({.reg_f = 7, .frame = 64}, 20) == "sp+64 d8-64 d9-56 d10-48 d11-40 d12-32 d13-24 d14-16 d15-8");
}

TEST_CASE("arm64 packed: parameters that are stored", "[stack][packed]") {
  // stp x19, x20, [sp, #-80]!; four stores; sub sp, sp, #32
  const Packed packed{.reg_i = 2, .home = 1, .frame = 112};
  check_prologue(packed, {"sp+0", "sp+80 x19-80 x20-72", "sp+80 x19-80 x20-72", "sp+80 x19-80 x20-72",
                          "sp+80 x19-80 x20-72", "sp+80 x19-80 x20-72", "sp+112 x19-80 x20-72"});
  // The epilogue does not load them.
  check_epilogue(packed, {"sp+112 x19-80 x20-72", "sp+80 x19-80 x20-72", "sp+0"});
  CHECK(codes(packed) == Lines{"alloc", "nop", "nop", "nop", "nop", "save", "end"});
  const Arm64UnwindInfo info = expand_arm64_packed(packed.word(), 0);
  CHECK(codes(packed, info.epilog_code_index) == Lines{"alloc", "save", "end"});
  // With fp and lr, and with a signed return address.
  check_epilogue({.reg_i = 1, .home = 1, .cr = 2, .frame = 112},
                 {"signed sp+112 x19-80 fp-112 lr-104", "signed sp+80 x19-80", "signed sp+0", "sp+0"});
  CHECK(at({.reg_i = 1, .home = 1, .cr = 2, .frame = 112}, 20) == "signed fp+112 x19-80 fp-112 lr-104");
  // Without a saved register they are stored among the locals: body.
  check_prologue({.home = 1, .cr = 3, .frame = 80}, {"sp+0", "sp+80 fp-80 lr-72", "fp+80 fp-80 lr-72"});
}

TEST_CASE("arm64 packed: a fragment has the frame of its function everywhere", "[stack][packed]") {
  const Packed packed{.flag = 2, .reg_i = 2, .home = 1, .cr = 3, .frame = 112};
  for (const unsigned n : {0u, 1u, 20u, 38u, 39u})
    CHECK(at(packed, n) == "fp+112 x19-80 x20-72 fp-112 lr-104");
  CHECK(codes(packed) == Lines{"end_c", "set_fp", "save", "nop", "nop", "nop", "nop", "save", "end"});
  CHECK_FALSE(expand_arm64_packed(packed.word(), 0).single_epilog);
}

TEST_CASE("arm64 packed: what cannot be is refused", "[stack][packed]") {
  check_corrupt({.reg_i = 11, .frame = 256});
  check_corrupt({.reg_i = 15, .cr = 1, .frame = 256});
  check_corrupt({.reg_i = 2, .frame = 0});           // x19 and x20 need 16 bytes
  check_corrupt({.reg_i = 2, .cr = 3, .frame = 16}); // and fp and lr 16 more
  check_corrupt({.cr = 3, .frame = 0});
  check_corrupt({.reg_i = 2, .home = 1, .frame = 64});
  check_corrupt({.length = 3, .frame = 16}); // behind the end
}

TEST_CASE("arm64 packed: every word either decodes or is refused", "[stack][packed]") {
  unsigned refused = 0, decoded = 0;
  for (unsigned flag = 1; flag <= 2; ++flag)
    for (unsigned low = 0; low < 1024; ++low) // RegF, RegI, H, CR
      for (const unsigned frame : {0u, 16u, 96u, 512u, 528u, 4080u, 8176u})
        for (unsigned length : {0u, 1u, 7u, 60u}) {
          const Packed packed{flag, length, low & 7, low >> 3 & 15, low >> 7 & 1, low >> 8, frame};
          try {
            const Arm64UnwindInfo info = expand_arm64_packed(packed.word(), function);
            ++decoded;
            for (unsigned n = 0; n < length; n += length < 10 ? 2 : 20) at(packed, n);
            if (length == 60 && at(packed, 30).find(fmt::format("+{}", frame)) == std::string::npos) FAIL();
            if (length == 60 && flag == 1) {
              CHECK(at(packed, 0) == "sp+0");
              CHECK(at(packed, 59) == "sp+0");
            }
          } catch (const Error& error) {
            if (error.kind() != ErrorKind::corrupt) FAIL();
            ++refused;
          }
        }
  CHECK(decoded > 20'000);
  CHECK(decoded + refused == 2 * 1024 * 7 * 4);
}

TEST_CASE("arm64 packed: for people", "[stack][packed]") {
  StackMemory memory;
  memory.u32(function, 0x100);
  memory.u32(function + 4, Packed{.reg_i = 2, .cr = 3, .frame = 48}.word());
  const auto records = unwind_records(memory, Cpu::arm64, function, base);
  REQUIRE(records.size() == 1);
  CHECK(records[0].begin == code);
  CHECK(records[0].end == code + 160);
  CHECK(records[0].unwind_info == 0);
  CHECK(records[0].details == Lines{"packed form", "one epilogue at the end, codes from 1"});
  REQUIRE(records[0].steps.size() == 4);
  CHECK(records[0].steps[1].what == "fp, lr, sp -= 0x20 first");
  CHECK(records[0].steps[2].what == "x19, x20, sp -= 0x10 first");
  CHECK(memory.reads == 1);
}

TEST_CASE("arm64 packed: an entry that names a packed entry", "[stack][packed]") {
  constexpr Address parent = base + 0x12000;
  StackMemory memory;
  memory.u32(function, 0x400);
  memory.u32(function + 4, 0x12000 + 3);
  memory.u32(parent, 0x100);
  memory.u32(parent + 4, Packed{.reg_i = 2, .cr = 3, .frame = 48}.word());
  // As at the parent's start: nothing saved yet.
  CHECK(text(arm64_frame_layout(memory, function, base, base + 0x410)) == "sp+0");
  const Arm64Function found = read_arm64_function(memory, function, base);
  CHECK(found.at_start_of_parent);
  CHECK(found.entry.begin == 0x100);
  CHECK(found.info.packed);
  const auto records = unwind_records(memory, Cpu::arm64, function, base);
  REQUIRE(records.size() == 1);
  CHECK(records[0].begin == code);
  CHECK(records[0].details[1] == "of the function that this code belongs to, as at its start");
  // A parent that names a parent: refused, not followed.
  memory.u32(parent + 4, 0x12000 + 3);
  try {
    read_arm64_function(memory, function, base);
    FAIL("no fault");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::corrupt);
    CHECK(error.address() == parent + 4);
  }
  memory.erase(parent + 4, 4);
  CHECK_THROWS_AS(read_arm64_function(memory, function, base), Error);
}
