#include "core/describe/unwind_rows.h"
#include "core/isa/arm64/unwind.h"
#include "core/isa/x64/unwind.h"
#include "tests/support/faults.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address rows_base = 0x10000, rows_entry = 0x20000, rows_code = rows_base + 0x100;
constexpr std::uint32_t rows_unwind = 0x11000;

// A function with unwind data and instructions of its own.
struct RowsFunction {
  MemoryBuilder memory;
  std::uint32_t size;

  RowsFunction(std::initializer_list<unsigned> info, std::initializer_list<unsigned> instructions)
      : memory({.cpu = Cpu::x64}), size(static_cast<std::uint32_t>(instructions.size())) {
    memory.at(rows_entry).u32(0x100).u32(0x100 + size).u32(rows_unwind);
    memory.at(rows_base + rows_unwind).bytes(info).fill(16);
    memory.at(rows_code).bytes(instructions).fill(64, 0xCC);
  }

  DebugUnwindRange rows(bool exact, MemoryReader* reader = nullptr) {
    MemoryReader& from = reader != nullptr ? *reader : memory;
    std::optional<CodeInstructions> instructions;
    const std::uint32_t begins[] = {0};
    if (exact) instructions.emplace(from, Cpu::x64, rows_code, size, begins);
    UnwindRows maker(from, Cpu::x64);
    return maker.of_function({.start = rows_code,
                              .size = size,
                              .instructions = instructions ? &*instructions : nullptr,
                              .same_method = {}},
                             rows_entry, rows_base);
  }
};

const FrameLayout& rows_at(const DebugUnwindRange& range, std::uint32_t offset) {
  const DebugUnwindRow* found = &range.rows.front();
  for (const DebugUnwindRow& row : range.rows)
    if (row.offset <= offset) found = &row;
  return found->layout;
}

std::vector<std::uint32_t> rows_offsets(const DebugUnwindRange& range) {
  std::vector<std::uint32_t> offsets;
  for (const DebugUnwindRow& row : range.rows) offsets.push_back(row.offset);
  return offsets;
}

// push rbp; push r15; push rbx; sub rsp, 0x18
#define ROWS_PROLOGUE 0x55, 0x41, 0x57, 0x53, 0x48, 0x83, 0xEC, 0x18
const std::initializer_list<unsigned> rows_info = {0x19, 0x08, 0x04, 0x00, 0x08, 0x22, 0x04, 0x30,
                                                   0x03, 0xF0, 0x01, 0x50, 0,    0,    0,    0};

} // namespace

TEST_CASE("rows: prologue, body, and two epilogues with the body between them") {
  RowsFunction f(rows_info,
                 {ROWS_PROLOGUE,                                                       //
                  0x48,          0xB8, 0xC3, 0xC3, 0xC3, 0xC3, 0xC3, 0xC3, 0xC3, 0xC3, // mov rax, imm64
                  0x48,          0x83, 0xC4, 0x18, 0x5B, 0x41, 0x5F, 0x5D, 0xC3,       // epilogue at 18
                  0xE8,          0x5B, 0xC3, 0x5D, 0xC3,                               // call, at 27
                  0x48,          0x83, 0xC4, 0x18, 0x5B, 0x41, 0x5F, 0x5D, 0xC3});     // epilogue at 32
  const DebugUnwindRange plain = f.rows(false);
  CHECK_FALSE(plain.exact);
  CHECK(plain.begin == 0);
  CHECK(plain.end == f.size);
  CHECK(rows_offsets(plain) == std::vector<std::uint32_t>{0, 1, 3, 4, 8});

  const DebugUnwindRange exact = f.rows(true);
  CHECK(exact.exact);
  CHECK(rows_offsets(exact) == std::vector<std::uint32_t>{0, 1, 3, 4, 8, 22, 23, 25, 26, 27, 36, 37, 39, 40});
  CHECK(rows_at(exact, 17).cfa == RegisterOffset{x64_register::rsp, 56});
  CHECK(rows_at(exact, 25).cfa == RegisterOffset{x64_register::rsp, 16});
  CHECK(rows_at(exact, 26).cfa == RegisterOffset{x64_register::rsp, 8});
  // Nothing of what the call's own bytes look like.
  CHECK(rows_at(exact, 31).cfa == RegisterOffset{x64_register::rsp, 56});
  CHECK(rows_at(exact, 31).find(x64_register::rbx) != nullptr);
  for (const std::uint32_t at : {0, 1, 3, 4, 8, 18, 22, 23, 25, 26, 27, 32, 36, 37, 39, 40}) {
    CAPTURE(at);
    const FrameLayout truth = x64_frame_layout(f.memory, rows_entry, rows_base, rows_code + at, true);
    CHECK(rows_at(exact, at).cfa == truth.cfa);
    CHECK(rows_at(exact, at).saved == truth.saved);
  }
}

TEST_CASE("rows: the body counts from the frame pointer, once the code sets it") {
  RowsFunction f(rows_info, {ROWS_PROLOGUE, 0x48, 0x8D, 0x6C, 0x24, 0x28, // lea rbp, [rsp+28h]
                             0x90, 0x90,                                  // at 13
                             0x48, 0x83, 0xC4, 0x18, 0x5B, 0x41, 0x5F, 0x5D, 0xC3, 0x90}); // epilogue at 15
  CHECK(rows_at(f.rows(false), 13).cfa == RegisterOffset{x64_register::rsp, 56});
  const DebugUnwindRange exact = f.rows(true);
  CHECK(rows_offsets(exact) == std::vector<std::uint32_t>{0, 1, 3, 4, 8, 13, 15, 19, 20, 22, 23, 24});
  CHECK(rows_at(exact, 12).cfa == RegisterOffset{x64_register::rsp, 56});
  for (const std::uint32_t at : {13, 14, 24}) {
    CAPTURE(at);
    const FrameLayout& layout = rows_at(exact, at);
    CHECK(layout.cfa == RegisterOffset{x64_register::rbp, 16});
    CHECK(layout.find(x64_register::rbp)->at == RegisterOffset{x64_register::rbp, 0});
    CHECK(layout.find(x64_register::rbx)->at == RegisterOffset{x64_register::rbp, -16});
    CHECK(layout.find(x64_register::rip)->at == RegisterOffset{x64_register::rbp, 8});
  }
  CHECK(rows_at(exact, 15).cfa == RegisterOffset{x64_register::rsp, 56});
}

TEST_CASE("rows: a frame pointer that is set late, or whose old value is lost, is not used") {
  RowsFunction late(rows_info, {ROWS_PROLOGUE, 0x90, 0x90, 0x90, 0x90, 0x48, 0x8D, 0x6C, 0x24, 0x28, 0x90});
  CHECK(rows_at(late.rows(true), 17).cfa.reg == x64_register::rsp);
  // push r15 alone
  RowsFunction lost({0x01, 0x02, 0x01, 0x00, 0x02, 0xF0, 0, 0}, {0x41, 0x57, 0x48, 0x8B, 0xEC, 0x90});
  CHECK(rows_at(lost.rows(true), 5).cfa == RegisterOffset{x64_register::rsp, 16});
}

TEST_CASE("rows: a jump within the function is no epilogue, one out of it is") {
  RowsFunction f(rows_info, {ROWS_PROLOGUE, 0xEB, 0xFE, // jmp to itself
                             0x48, 0x83, 0xC4, 0x18, 0x5B, 0x41, 0x5F, 0x5D, 0xE9, 0, 1, 0, 0});
  const DebugUnwindRange exact = f.rows(true);
  CHECK(rows_at(exact, 8).cfa.offset == 56);
  CHECK(rows_at(exact, 14).cfa.offset == 32);
  CHECK(rows_at(exact, 18).cfa.offset == 8);
}

TEST_CASE("rows: behind an instruction that is not known there are no epilogues") {
  RowsFunction f(rows_info, {ROWS_PROLOGUE, 0x06, 0x48, 0x83, 0xC4, 0x18, 0x5B, 0x41, 0x5F, 0x5D, 0xC3});
  const DebugUnwindRange range = f.rows(true);
  CHECK_FALSE(range.exact);
  CHECK(rows_offsets(range) == std::vector<std::uint32_t>{0, 1, 3, 4, 8});
}

TEST_CASE("rows: codes behind the function's end are cut off, and not kept for others") {
  RowsFunction f(rows_info, {0x55, 0x41, 0x57});
  CHECK(rows_offsets(f.rows(false)) == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("rows: functions of one prologue share their rows") {
  RowsFunction f(rows_info, {ROWS_PROLOGUE, 0xC3});
  f.memory.at(rows_entry + 12).u32(0x200).u32(0x280).u32(rows_unwind + 0x100);
  f.memory.at(rows_base + rows_unwind + 0x100).bytes(rows_info).fill(16);
  UnwindRows maker(f.memory, Cpu::x64);
  const auto range = [&](Address entry, Address start) {
    return maker.of_function({.start = start, .size = 9, .instructions = nullptr, .same_method = {}}, entry,
                             rows_base);
  };
  const DebugUnwindRange first = range(rows_entry, rows_code),
                         second = range(rows_entry + 12, rows_base + 0x200);
  CHECK(first.rows.size() == 5);
  CHECK(&first.rows.list() == &second.rows.list());
}

TEST_CASE("rows: code outside of its method is a fault") {
  RowsFunction f(rows_info, {ROWS_PROLOGUE, 0xC3});
  UnwindRows maker(f.memory, Cpu::x64);
  const auto fault = fault_of([&] {
    maker.of_function({.start = rows_code + 1, .size = 9, .instructions = nullptr, .same_method = {}},
                      rows_entry, rows_base);
  });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
}

TEST_CASE("rows: whichever read fails, there is a fault or the same rows") {
  RowsFunction f(rows_info, {ROWS_PROLOGUE, 0x48, 0x83, 0xC4, 0x18, 0x5B, 0x41, 0x5F, 0x5D, 0xC3});
  for (const bool exact : {false, true}) {
    const auto whole = rows_offsets(f.rows(exact));
    for_each_failing_read(f.memory, [&](MemoryReader& memory, std::uint64_t k) {
      CAPTURE(exact, k);
      std::vector<std::uint32_t> got;
      const auto fault = fault_of([&] { got = rows_offsets(f.rows(exact, &memory)); });
      if (fault)
        CHECK(fault->kind() == ErrorKind::memory_missing);
      else
        CHECK(got == whole);
      if (k == 0) CHECK_FALSE(fault);
    });
  }
}

TEST_CASE("rows: arm64 prologue and epilogues, each instruction") {
  // stp fp, lr, [sp, -32]!; mov fp, sp; ... epilogue: ldp fp, lr, [sp], 32; ret, twice.
  MemoryBuilder memory({.cpu = Cpu::arm64});
  constexpr std::uint32_t words = 12;
  memory.at(rows_entry).u32(0x100).u32(rows_unwind);
  // codes: set_fp, save_fplr_x 32, end; 1 word of codes; two scopes
  memory.at(rows_base + rows_unwind)
      .u32(words | 2u << 22 | 1u << 27)
      .u32(4 | 1u << 22)
      .u32(10 | 1u << 22)
      .bytes({0xE1, 0x83, 0xE4, 0xE3})
      .fill(16);
  UnwindRows maker(memory, Cpu::arm64);
  const DebugUnwindRange range =
      maker.of_function({.start = rows_code, .size = words * 4, .instructions = nullptr, .same_method = {}},
                        rows_entry, rows_base);
  CHECK(range.exact);
  CHECK(rows_offsets(range) == std::vector<std::uint32_t>{0, 4, 8, 16, 20, 24, 40, 44});
  for (std::uint32_t at = 0; at < words * 4; at += 4) {
    CAPTURE(at);
    const FrameLayout truth = arm64_frame_layout(memory, rows_entry, rows_base, rows_code + at);
    CHECK(rows_at(range, at).cfa == truth.cfa);
    CHECK(rows_at(range, at).saved == truth.saved);
  }
}
