#include "core/isa/frame_layout.h"
#include "core/isa/known_architectures.h"
#include "core/isa/registers.h"
#include "core/isa/unwind_record.h"
#include "core/isa/x64/calls.h"
#include "core/isa/x64/epilogue.h"
#include "core/isa/x64/instruction.h"
#include "core/isa/x64/references.h"
#include "core/isa/x64/stack_effect.h"
#include "core/isa/x64/unwind.h"
#include "core/isa/x64/unwind_text.h"

namespace clr {
namespace {

namespace x64 = x64_register;

constexpr std::array<std::string_view, 17> x64_names{"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                     "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                     "r12", "r13", "r14", "r15", "rip"};

// CoreCLR numbers registers as instructions encode them.
constexpr std::array<std::string_view, 16> x64_jit_names{"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                         "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                         "r12", "r13", "r14", "r15"};
constexpr std::array<std::uint8_t, 16> x64_jit_dwarf{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr unsigned xmm_count = 16;
// Vector registers follow the general ones, which are 32 since .NET 10 (with those of APX) and were 16
// before. The 16 further vector registers of AVX-512 have no numbers here.
constexpr std::array<JitRegisters::Vectors, 2> x64_jit_vectors{
    {{.first = 16, .count = xmm_count, .dwarf = x64::xmm0},
     {.first = 32, .count = xmm_count, .dwarf = x64::xmm0}}};

// The CONTEXT orders rax rcx rdx rbx rsp rbp rsi rdi r8.. rip.
constexpr std::array<std::uint16_t, 17> x64_context_offsets{
    0x78, 0x88, 0x80, 0x90, 0xA8, 0xB0, 0xA0, 0x98, 0xB8, 0xC0, 0xC8, 0xD0, 0xD8, 0xE0, 0xE8, 0xF0, 0xF8};

// mov rax, 15; syscall.
constexpr std::array<std::uint8_t, 9> x64_trampoline{0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05};
// When the handler has returned, rsp points to the ucontext, whose general registers begin at 40 in the order
// r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip. Source: Linux arch/x86/include/uapi/asm/sigcontext.h.
constexpr auto x64_signal_places = [] {
  constexpr std::array<std::uint8_t, 17> order{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
  std::array<SignalFrame::Place, order.size()> places{};
  for (std::size_t n = 0; n < order.size(); ++n)
    places[n] = {order[n], 40 + static_cast<std::int64_t>(n) * 8};
  return places;
}();

constexpr std::array<CalleeSavedField, 6> x64_saved_fields{{{x64::rbx, "Rbx"},
                                                            {x64::rbp, "Rbp"},
                                                            {x64::r12, "R12"},
                                                            {x64::r13, "R13"},
                                                            {x64::r14, "R14"},
                                                            {x64::r15, "R15"}}};

// mov rax, [rip + count]; dec word [rax]; je +6; jmp [rip + target]; jmp [rip + threshold reached]
// Source: dotnet/runtime src/coreclr/vm/amd64/asmhelpers.S (CallCountingStubCode).
constexpr auto any_byte = StubPattern::any;
constexpr std::array<std::int16_t, 24> x64_call_counting{
    0x48,     0x8B,     0x05, any_byte, any_byte, any_byte, any_byte, 0x66,
    0xFF,     0x08,     0x74, 0x06,     0xFF,     0x25,     any_byte, any_byte,
    any_byte, any_byte, 0xFF, 0x25,     any_byte, any_byte, any_byte, any_byte};
constexpr std::array<std::uint8_t, 5> x64_call_counting_instructions{0, 7, 10, 12, 18};

FrameLayout x64_managed_layout(const UnwindQuery& query) {
  return x64_frame_layout(query.memory, query.function, query.base, query.ip, query.leaf, query.same_method);
}

std::uint32_t x64_function_length(MemoryReader& memory, Address function, Address) {
  const X64RuntimeFunction entry = read_x64_runtime_function(memory, function);
  if (entry.end <= entry.begin) throw_corrupt(function, "a runtime function that ends before it begins");
  return entry.end - entry.begin;
}

} // namespace

constinit const Architecture x64_architecture{
    .cpu = Cpu::x64,
    .roles = {.count = x64_names.size(),
              .pc = x64::rip,
              .sp = x64::rsp,
              .fp = x64::rbp,
              .return_address = x64::rip},
    .register_names = x64_names,
    .callee_saved =
        1u << x64::rbx | 1u << x64::rbp | 1u << x64::r12 | 1u << x64::r13 | 1u << x64::r14 | 1u << x64::r15,
    .vectors = {.first = x64::xmm0, .count = xmm_count, .prefix = "xmm"},
    .jit = {.names = x64_jit_names, .dwarf = x64_jit_dwarf, .vectors = x64_jit_vectors},
    .context = {.size = 0x100,
                .flags_at = 0x30,
                .cpu_flag = 0x0010'0000,
                .offsets = x64_context_offsets,
                .control = 1u << x64::rsp | 1u << x64::rip},
    .signal_frame = {.code = x64_trampoline, .registers = x64_signal_places},
    .callee_saved_fields = x64_saved_fields,
    .arguments = {.integer_registers = 6, .real_registers = 8, .words_apart = true},
    .unwind_data = {.kind = UnwindDataForm::Kind::codes, .entry_has_end = true, .chains = true},
    .gc_info = {.kind = GcInfoForm::Kind::bits,
                .group_bits = 8,
                .unit = 1,
                .return_kind_bits = 4,
                .parts = {.safe_point_count = 2,
                          .register_count = 2,
                          .frame_register = 3,
                          .frame_register_mask = 5}},
    .on_stack_replacement = true,
    .call_counting_stub = {.code = x64_call_counting,
                           .instructions = x64_call_counting_instructions,
                           .target_at = 14,
                           .target_from = 18},
    .managed_layout = x64_managed_layout,
    .unwind_records = x64_unwind_records,
    .function_length = x64_function_length,
    .list_instructions = x64_list_instructions,
    .stack_effect = x64_stack_effect,
    .code_reference = x64_code_reference,
    .visit_own_addresses = x64_visit_own_addresses,
    .follows_call = x64_follows_call,
    .direct_call_target = x64_direct_call_target,
    .leaves_by_indirect_jump = x64_leaves_by_indirect_jump,
};

} // namespace clr
