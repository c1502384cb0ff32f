#include "core/isa/arm64/calls.h"
#include "core/isa/arm64/instruction.h"
#include "core/isa/arm64/references.h"
#include "core/isa/arm64/unwind.h"
#include "core/isa/arm64/unwind_text.h"
#include "core/isa/known_architectures.h"
#include "core/isa/registers.h"

namespace clr {
namespace {

namespace arm64 = arm64_register;

constexpr std::array<std::string_view, 33> arm64_names{
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "fp",  "lr",  "sp",  "pc"};

constexpr unsigned v_count = 32;
constexpr auto arm64_jit_dwarf = [] { // x0 to sp: the same
  std::array<std::uint8_t, arm64::pc> numbers{};
  for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = static_cast<std::uint8_t>(n);
  return numbers;
}();
constexpr std::array<JitRegisters::Vectors, 1> arm64_jit_vectors{
    {{.first = 32, .count = v_count, .dwarf = arm64::v0}}};

// ContextFlags and Cpsr come first, then the registers in the order of their numbers.
constexpr auto arm64_context_offsets = [] {
  std::array<std::uint16_t, arm64_names.size()> offsets{};
  for (std::size_t n = 0; n < offsets.size(); ++n) offsets[n] = static_cast<std::uint16_t>(8 + 8 * n);
  return offsets;
}();

// mov x8, #139; svc #0.
constexpr std::array<std::uint8_t, 8> arm64_trampoline{0x68, 0x11, 0x80, 0xD2, 0x01, 0, 0, 0xD4};
// sp points to siginfo (128 bytes) and ucontext, whose sigcontext lies at 176: fault address, x0..x30, sp,
// pc. Source: Linux arch/arm64/include/uapi/asm/sigcontext.h.
constexpr auto arm64_signal_places = [] {
  std::array<SignalFrame::Place, arm64_names.size()> places{};
  for (std::size_t n = 0; n < places.size(); ++n)
    places[n] = {static_cast<unsigned>(n), 128 + 176 + 8 + static_cast<std::int64_t>(n) * 8};
  return places;
}();

constexpr std::array<CalleeSavedField, 12> arm64_saved_fields{{{19, "X19"},
                                                               {20, "X20"},
                                                               {21, "X21"},
                                                               {22, "X22"},
                                                               {23, "X23"},
                                                               {24, "X24"},
                                                               {25, "X25"},
                                                               {26, "X26"},
                                                               {27, "X27"},
                                                               {28, "X28"},
                                                               {arm64::fp, "Fp"},
                                                               {arm64::lr, "Lr"}}};

// The authentication code occupies the bits above the address space; bit 55 tells which half the address is
// of. Linux gives programs 48 bits unless they ask for more, which the runtime does not.
Address strip_authentication(Address code_pointer) {
  constexpr Address low = (Address{1} << 48) - 1;
  return (code_pointer >> 55 & 1) != 0 ? code_pointer | ~low : code_pointer & low;
}

FrameLayout arm64_managed_layout(const UnwindQuery& query) {
  return arm64_frame_layout(query.memory, query.function, query.base, query.ip);
}

std::uint32_t arm64_function_length(MemoryReader& memory, Address function, Address base) {
  return read_arm64_function(memory, function, base).info.function_length;
}

} // namespace

constinit const Architecture arm64_architecture{
    .cpu = Cpu::arm64,
    .roles = {.count = arm64_names.size(),
              .pc = arm64::pc,
              .sp = arm64::sp,
              .fp = arm64::fp,
              .return_address = arm64::lr},
    .register_names = arm64_names,
    .callee_saved = 0x3FF8'0000, // x19 to x28, fp
    .vectors = {.first = arm64::v0, .count = v_count, .prefix = "v"},
    .jit = {.names = arm64_names, .dwarf = arm64_jit_dwarf, .vectors = arm64_jit_vectors},
    .strip_code_pointer = strip_authentication,
    .context = {.size = 0x110,
                .flags_at = 0,
                .cpu_flag = 0x0040'0000,
                .offsets = arm64_context_offsets,
                .control = std::uint64_t{1} << arm64::pc | std::uint64_t{1} << arm64::sp | 1u << arm64::fp |
                           1u << arm64::lr},
    // The vDSO describes only a part of the registers.
    .signal_frame = {.code = arm64_trampoline, .registers = arm64_signal_places, .before_cfi = true},
    .callee_saved_fields = arm64_saved_fields,
    .arguments = {.integer_registers = 8, .real_registers = 8, .large_by_reference = true, .in_order = true},
    .stack_unit = 16, // sp is a multiple of it
    .unwind_data = {.kind = UnwindDataForm::Kind::words},
    .gc_info = {.kind = GcInfoForm::Kind::bits,
                .group_bits = 8,
                .unit = 4,
                .return_kind_bits = 4,
                .parts = {.safe_point_count = 3,
                          .register_count = 3,
                          .frame_register = 2,
                          .frame_register_mask = 29,
                          .frame_size_with_enc = true,
                          .marks_tail_calls = true}},
    .on_stack_replacement = true,
    .managed_layout = arm64_managed_layout,
    .unwind_records = arm64_unwind_records,
    .function_length = arm64_function_length,
    .list_instructions = arm64_list_instructions,
    .code_reference = arm64_code_reference,
    .visit_own_addresses = arm64_visit_own_addresses,
    .follows_call = arm64_follows_call,
    .direct_call_target = arm64_direct_call_target,
};

} // namespace clr
