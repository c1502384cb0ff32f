#include "tests/fuzz/built_seeds.h"
#include "tests/stack/cfi_image.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <fstream>
#include <optional>

namespace clr::fuzz {
namespace {

using namespace clr::test;
using Code = std::vector<std::byte>;

Code code_of(std::initializer_list<unsigned> values) {
  Code made;
  for (const unsigned value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

} // namespace

void SeedFolder::write(std::string_view target, const std::vector<std::byte>& seed) {
  const std::filesystem::path file = path_ / target / fmt::format("built-{}", number_++);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
}

void SeedFolder::write(std::string_view target, unsigned choice, const std::vector<std::byte>& seed) {
  std::vector<std::byte> all{static_cast<std::byte>(choice)};
  all.insert(all.end(), seed.begin(), seed.end());
  write(target, all);
}

namespace {

// A native module of functions with these instructions; fuzz_unwind.cpp asks at every 32nd part of it.
Code module_with(Cpu cpu, const std::vector<std::vector<std::uint8_t>>& functions) {
  constexpr std::uint32_t size = 0x3000, step = size / 32 + 1;
  CfiImage image{.base = 0, .cpu = cpu, .size = size, .functions = {}};
  for (std::size_t i = 0; i < functions.size(); ++i)
    image.functions.push_back({i * step, step - 2, functions[i], i % 4 == 3});
  StackMemory memory;
  image.write(memory);
  Code bytes(size, std::byte{0xCC});
  for (Address at = 0; at < size; ++at) memory.read_some(at, std::span(bytes).subspan(at, 1));
  return bytes;
}

// What stands in the common entry of a module's call frame information, and instructions that only pass by.
void write_common_entries(SeedFolder& folder) {
  using Rules = std::vector<std::uint8_t>;
  Rules deep(70, DW_CFA_remember_state), plain_address(9);
  plain_address[0] = DW_CFA_set_loc;
  const std::vector<Rules> functions{{DW_CFA_advance_loc | 1, DW_CFA_offset | 3, 2, DW_CFA_restore | 3},
                                     {DW_CFA_advance_loc1, 1},
                                     {DW_CFA_advance_loc2, 1, 0},
                                     {DW_CFA_advance_loc4, 1, 0, 0, 0},
                                     {DW_CFA_MIPS_advance_loc8, 1, 0, 0, 0, 0, 0, 0, 0},
                                     {DW_CFA_GNU_args_size, 8},
                                     {DW_CFA_GNU_window_save, 0x2c},
                                     {DW_CFA_GNU_negative_offset_extended, 3, 2},
                                     {DW_CFA_remember_state, DW_CFA_restore_state, DW_CFA_restore_state},
                                     {DW_CFA_restore_extended, 3},
                                     {DW_CFA_expression, 3, 0xff, 0xff, 0x7f},
                                     {DW_CFA_undefined, 0xff, 0xff, 0x7f},
                                     {0x3f},
                                     deep,
                                     plain_address};
  const Code sound = module_with(Cpu::x64, functions);
  folder.write("unwind", 2, sound);
  // Its version, its form of two letters, and the encoding of addresses.
  constexpr std::size_t version = 0x2008, form = 0x2009, encoding = 0x2010;
  const auto change = [&](std::size_t at, unsigned value) {
    Code changed = sound;
    changed[at] = static_cast<std::byte>(value);
    folder.write("unwind", 2, changed);
  };
  change(version, 2);
  change(form, 'e');
  for (const char letter : {'B', 'G', 'L', 'P', 'Q'}) change(form + 1, static_cast<unsigned char>(letter));
  for (const unsigned form_of_pointers :
       {0x00u, 0x10u, 0x12u, 0x13u, 0x14u, 0x1au, 0x1cu, 0x1fu, 0x3bu, 0x9bu})
    change(encoding, form_of_pointers);
}

} // namespace

// The call frame information of a native module, with one kind of rule in each function.
void write_call_frames(SeedFolder& folder) {
  using Rules = std::vector<std::uint8_t>;
  const auto expression = [](std::uint8_t rule, std::optional<std::uint8_t> reg, const Rules& ops) {
    Rules made{rule};
    if (reg) made.push_back(*reg);
    made.push_back(static_cast<std::uint8_t>(ops.size()));
    made.insert(made.end(), ops.begin(), ops.end());
    return made;
  };
  const auto lit = [](unsigned value) { return static_cast<std::uint8_t>(DW_OP_lit0 + value); };
  Rules arithmetic{lit(9)};
  for (const unsigned op :
       {DW_OP_and, DW_OP_div, DW_OP_minus, DW_OP_mod, DW_OP_mul, DW_OP_or, DW_OP_plus, DW_OP_shl, DW_OP_shr,
        DW_OP_shra, DW_OP_xor, DW_OP_eq, DW_OP_ge, DW_OP_gt, DW_OP_le, DW_OP_lt, DW_OP_ne}) {
    arithmetic.push_back(lit(3));
    arithmetic.push_back(static_cast<std::uint8_t>(op));
  }
  const Rules constants{DW_OP_const1u,
                        1,
                        DW_OP_const1s,
                        2,
                        DW_OP_const2u,
                        1,
                        2,
                        DW_OP_const2s,
                        1,
                        2,
                        DW_OP_const4u,
                        1,
                        2,
                        3,
                        4,
                        DW_OP_const4s,
                        1,
                        2,
                        3,
                        4,
                        DW_OP_const8u,
                        1,
                        2,
                        3,
                        4,
                        5,
                        6,
                        7,
                        8,
                        DW_OP_const8s,
                        1,
                        2,
                        3,
                        4,
                        5,
                        6,
                        7,
                        8,
                        DW_OP_constu,
                        64,
                        DW_OP_consts,
                        64,
                        DW_OP_bregx,
                        7,
                        64};
  const Rules shuffles{lit(1),     lit(2),    lit(3),     DW_OP_dup,         DW_OP_drop, DW_OP_over,
                       DW_OP_pick, 1,         DW_OP_swap, DW_OP_rot,         DW_OP_neg,  DW_OP_abs,
                       DW_OP_not,  DW_OP_abs, DW_OP_nop,  DW_OP_plus_uconst, 9};
  const Rules jumps{lit(1), lit(0), DW_OP_bra, 1,          0, lit(5), lit(1), DW_OP_bra,
                    1,      0,      lit(6),    DW_OP_skip, 1, 0,      lit(7), lit(8)};
  const std::vector<Rules> functions{
      {DW_CFA_def_cfa_offset, 16},
      {DW_CFA_same_value, 3, DW_CFA_register, 12, 3, DW_CFA_undefined, 13},
      {DW_CFA_register, 16, 3},
      {DW_CFA_undefined, 16},
      {DW_CFA_same_value, 16},
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_breg0 + 7, 16}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_bregx, 7, 16}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_breg0 + 7, 8, DW_OP_deref}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_call_frame_cfa}),
      expression(DW_CFA_def_cfa_expression, {}, constants),
      expression(DW_CFA_def_cfa_expression, {}, shuffles),
      expression(DW_CFA_def_cfa_expression, {}, arithmetic),
      expression(DW_CFA_def_cfa_expression, {}, jumps),
      expression(DW_CFA_def_cfa_expression, {}, {lit(1), lit(0), DW_OP_div}),
      expression(DW_CFA_def_cfa_expression, {}, {lit(1), lit(0), DW_OP_mod}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_dup}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_skip, 0xfd, 0xff}), // to itself
      expression(DW_CFA_def_cfa_expression, {}, {lit(1), DW_OP_dup, DW_OP_skip, 0xfc, 0xff}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_skip, 9, 0}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_addr, 0, 0, 0, 0, 0, 0, 0, 0}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_breg0 + 7, 8, DW_OP_deref_size, 4}),
      expression(DW_CFA_def_cfa_expression, {}, {DW_OP_breg0 + 7, 8, DW_OP_deref_size, 9}),
      expression(DW_CFA_expression, 3, {DW_OP_breg0 + 7, 8}),
      expression(DW_CFA_val_expression, 3, {DW_OP_breg0 + 7, 8}),
      expression(DW_CFA_expression, 3, {DW_OP_call_frame_cfa, DW_OP_plus_uconst, 8}),
      expression(DW_CFA_expression, 16, {DW_OP_breg0 + 7, 8, DW_OP_plus_uconst, 8}),
      expression(DW_CFA_expression, 16, {lit(0), DW_OP_not}),
      expression(DW_CFA_expression, 12, {lit(0), DW_OP_not}),
      {DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2, DW_CFA_offset | 3, 3},
      {DW_CFA_val_offset, 3, 2},
      {DW_CFA_def_cfa_register, 40}};
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    Code bytes = module_with(cpu, functions);
    folder.write("unwind", cpu == Cpu::x64 ? 2 : 3, bytes);
    // The pointers of .eh_frame_hdr in other encodings.
    for (const unsigned encoding : {0x3bu, 0x03u, 0x0cu}) {
      bytes[0x1001] = static_cast<std::byte>(encoding);
      folder.write("unwind", cpu == Cpu::x64 ? 2 : 3, Code(bytes.begin(), bytes.begin() + 0x2100));
    }
  }
  write_common_entries(folder);
  // What a signal handler returns to.
  const std::vector<Code> returns{code_of({0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}),
                                  code_of({0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4})};
  for (unsigned cpu = 0; cpu < returns.size(); ++cpu) {
    Code code(1024);
    for (std::size_t pc = 1; pc + 16 < code.size(); pc += code.size() / 32 + 1)
      std::ranges::copy(returns[cpu], code.begin() + static_cast<std::ptrdiff_t>(pc));
    folder.write("unwind", 2 | cpu, code);
  }
  // arm64 unwind data: RUNTIME_FUNCTION, and a record whose codes save any register in every form.
  Code records(64);
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) records[at + i] = static_cast<std::byte>(value >> (8 * i));
  };
  put(0, 64);
  put(4, 16);
  put(16, 0x40 | 4u << 27); // 0x40 instructions, four words of codes
  std::ranges::copy(code_of({0xe7, 0x00, 0x01, 0xe7, 0x42, 0x41, 0xe7, 0x24, 0x82, 0xe7, 0x06, 0x81, 0xe4}),
                    records.begin() + 20);
  folder.write("unwind", 1, records);
  records[21] = std::byte{0x80};
  folder.write("unwind", 1, records);
  // Every code of one byte that stands for a frame of the system, and pairs that are saved like the ones
  // before.
  for (const unsigned code : {0xe3u, 0xe5u, 0xe6u, 0xe8u, 0xe9u, 0xeau, 0xebu, 0xecu, 0xfcu, 0xf8u}) {
    std::ranges::copy(code_of({code, 0xc8, 0x02, 0xe6, 0xe6, 0xe4, 0, 0, 0, 0, 0, 0, 0}),
                      records.begin() + 20);
    folder.write("unwind", 1, records);
  }
  // Every instruction of x64 by its first byte, with the prefixes and tables that change its length.
  const std::vector<std::vector<unsigned>> tables{{},
                                                  {0x66},
                                                  {0x48},
                                                  {0x0f},
                                                  {0x66, 0x0f},
                                                  {0x0f, 0x38},
                                                  {0x0f, 0x3a},
                                                  {0xc5, 0xf8},
                                                  {0xc4, 0xe2, 0x79},
                                                  {0xc4, 0xe3, 0x79},
                                                  {0x62, 0xf1, 0x7c, 0x48},
                                                  {0xf0},
                                                  {0x67},
                                                  {0xd5, 0x00}};
  for (const auto& table : tables)
    for (const unsigned operand : {0x05u, 0x44u, 0xc8u}) { // relative to rip, with an index, registers
      Code code;
      for (unsigned op = 0; op < 256; ++op) {
        for (const unsigned byte : table) code.push_back(static_cast<std::byte>(byte));
        for (const unsigned byte : {op, operand, 0x24u, 1u, 2u, 3u, 0x90u})
          code.push_back(static_cast<std::byte>(byte));
      }
      folder.write("unwind", 4, code);
    }
  // Instructions that refer to others: calls, jumps, loads of cells and of addresses.
  folder.write(
      "unwind", 4,
      code_of(
          {0xe8, 0x10, 0,    0,    0,                                           // call
           0x0f, 0x84, 0x10, 0,    0,    0,    0x74, 0x05,                      // je
           0xe9, 0x20, 0,    0,    0,    0xeb, 0x02,                            // jmp
           0xff, 0x15, 0x10, 0,    0,    0,    0xff, 0x25, 8,    0,    0,    0, // call and jmp by cells
           0x48, 0x8b, 0x05, 0x10, 0,    0,    0,    0x48, 0x8d, 0x05, 0x10, 0,    0,    0, // mov, lea
           0xff, 0xd0,                                                                      // call rax
           0x48, 0xb8, 1,    2,    3,    4,    5,    6,    7,    8,    0xff, 0x10, // mov rax, ...; call [rax]
           0x48, 0xb9, 1,    2,    3,    4,    5,    6,    7,    8,    0xff, 0xe1, // mov rcx, ...; jmp rcx
           0x48, 0x8d, 0x6c, 0x24, 0x10, 0x48, 0x8b, 0xec, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0xac,
           0x24, 0,    1,    0,    0,    0xc3, 0xcc, 0xcc, 0xcc, 0xcc}));
  // The same of arm64, by the address of a page: add, add of 4096s, ldr, blr, br, and a movk that ends an
  // address.
  Code pages;
  for (const std::uint32_t word :
       {0xb000'0000u, 0x9100'4000u, 0xd000'0001u, 0x9140'0421u, 0xb000'0002u, 0xf940'0c43u, 0xb000'0004u,
        0xd63f'0080u, 0xb000'0005u, 0xd61f'00a0u, 0xd280'0026u, 0xf2a0'0046u, 0xf2c0'0066u})
    for (unsigned i = 0; i < 4; ++i) pages.push_back(static_cast<std::byte>(word >> (8 * i)));
  folder.write("unwind", 5, pages);
}

} // namespace clr::fuzz
