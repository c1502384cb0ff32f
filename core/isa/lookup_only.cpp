// CPUs of which only so much is known that a method can be found for an address: their stacks are not walked.
#include "core/isa/known_architectures.h"

#include <array>

namespace clr {
namespace {

constexpr std::array<std::string_view, 8> x86_jit_names{"eax", "ecx", "edx", "ebx",
                                                        "esp", "ebp", "esi", "edi"};
constexpr std::array<std::string_view, 16> arm_jit_names{"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                                         "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};

} // namespace

// A target whose CPU is not told (a descriptor alone) may chain its unwind data.
constinit const Architecture unknown_architecture{.unwind_data = {.chains = true}};

constinit const Architecture x86_architecture{
    .cpu = Cpu::x86,
    .jit = {.names = x86_jit_names, .offsets_in_words = true},
    .least_called_method = 0x10000,
    .unwind_data = {.kind = UnwindDataForm::Kind::length},
    .gc_info = {.kind = GcInfoForm::Kind::bytes},
};

constinit const Architecture arm_architecture{
    .cpu = Cpu::arm,
    .jit = {.names = arm_jit_names},
    .code_pointer_mark = 1, // Thumb
    // The fragment bit takes one bit of the count of code words.
    .unwind_data = {.kind = UnwindDataForm::Kind::words,
                    .code_words_bit = 28,
                    .epilogs_bit = 23,
                    .fragment_bit = 22},
    .gc_info = {.kind = GcInfoForm::Kind::bits, .group_bits = 7, .unit = 2, .return_kind_bits = 2},
};

constinit const Architecture loongarch64_architecture{
    .cpu = Cpu::loongarch64,
    .unwind_data = {.kind = UnwindDataForm::Kind::words, .extended_without_code_words = true},
    .gc_info = {.kind = GcInfoForm::Kind::bits, .group_bits = 8, .unit = 4, .return_kind_bits = 4},
    .on_stack_replacement = true,
};

constinit const Architecture riscv64_architecture{
    .cpu = Cpu::riscv64,
    .unwind_data = {.kind = UnwindDataForm::Kind::words, .extended_without_code_words = true},
    .on_stack_replacement = true,
};

// Its code has no addresses.
constinit const Architecture wasm_architecture{.cpu = Cpu::wasm};

} // namespace clr
