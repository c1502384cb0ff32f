// One value for each CPU: all that the rooms above must know of it to read its code, its stacks and the
// runtime's tables. A room looks the value up once, from the platform of its target, and asks it; it does not
// compare CPUs. README.md beside this file says what a further CPU must provide.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace clr {

class MemoryReader;
struct CodeReference;
struct FrameLayout;
struct InstructionList;
struct KnownRegister;
struct UnwindRecord;

// Numbers of pc, sp, frame pointer and of the register that holds the return address on entry to a function:
// pc itself where the call leaves it on the stack. `count` is 0 for a CPU whose stacks we do not walk.
struct RegisterRoles {
  unsigned count = 0, pc = 0, sp = 0, fp = 0, return_address = 0;
};

// Vector registers have numbers behind the others: `first` is that of register 0, "xmm" the prefix of names.
struct VectorRegisters {
  unsigned first = 0, count = 0;
  std::string_view prefix;
};

// The numbers and names that the JIT uses for registers in debug information. Source: dotnet/runtime
// src/coreclr/inc/cordebuginfo.h (RegNum), src/coreclr/jit/register*.h.
struct JitRegisters {
  // Numbers from `first` on are the vector registers from DWARF number `dwarf` on.
  struct Vectors {
    unsigned first = 0, count = 0, dwarf = 0;
  };
  std::span<const std::string_view> names; // by the JIT's number; empty: not known
  std::span<const std::uint8_t> dwarf;     // DWARF numbers of the first ones
  std::span<const Vectors> vectors;
  bool offsets_in_words = false; // offsets from a base register count words of 4 bytes
};

// A CONTEXT: the registers as the runtime saves them in memory, in the form of Windows on every OS. Source:
// dotnet/runtime src/coreclr/pal/inc/pal.h.
struct ContextLayout {
  std::size_t size = 0; // bytes up to the last general register; 0: not known
  std::size_t flags_at = 0;
  std::uint32_t cpu_flag = 0;             // set in the ContextFlags of every record of this CPU
  std::span<const std::uint16_t> offsets; // by DWARF number
  std::uint64_t control = 0; // bit n: register n belongs to CONTEXT_CONTROL, the rest to CONTEXT_INTEGER
};

// The code to which a signal handler returns, and where the interrupted registers lie then.
struct SignalFrame {
  struct Place {
    unsigned reg = 0;              // DWARF number
    std::int64_t offset_of_sp = 0; // bytes from the stack pointer
  };
  std::span<const std::uint8_t> code; // empty: not known
  std::span<const Place> registers;
  // Call frame information of the trampoline may describe only a part of the registers: this comes first.
  bool before_cfi = false;
};

// A field of the runtime's type CalleeSavedRegisters.
struct CalleeSavedField {
  unsigned reg = 0; // DWARF number
  std::string_view name;
};

// The layout of a RUNTIME_FUNCTION and of the unwind data that it names. Source: dotnet/runtime
// src/coreclr/inc/win64unwind.h, src/coreclr/vm/codeman.cpp (GetUnwindDataBlob and its neighbours).
struct UnwindDataForm {
  enum class Kind : std::uint8_t {
    unknown,
    codes,  // a header with the count of codes (x64)
    length, // the length of the function, no more (x86)
    words,  // header words, epilogue scopes and words of codes (arm and what was made after it)
  };
  Kind kind = Kind::unknown;
  bool entry_has_end = false; // the RUNTIME_FUNCTION holds the end of its code
  bool chains = false;        // a record may name the RUNTIME_FUNCTION of the function that it continues
  // words: position of the two counts in the header.
  unsigned code_words_bit = 27, epilogs_bit = 22;
  // words: the extended header is told by the absence of code words alone.
  bool extended_without_code_words = false;
  // words: this bit of the header marks a fragment of a function; without one its first code does.
  std::optional<unsigned> fragment_bit;
};

// GC info: where the bytes of one CPU differ from those of another. Source: dotnet/runtime
// src/coreclr/inc/gcinfotypes.h (the classes of encodings).
struct GcInfoForm {
  enum class Kind : std::uint8_t { unknown, bits, bytes };
  // Widths of the groups of bits in which the parts behind the code length are written, and what the header's
  // bits mean on this CPU.
  struct Parts {
    unsigned safe_point_count = 0; // 0: the parts of this CPU are not known
    unsigned register_count = 0;
    unsigned frame_register = 0;
    unsigned frame_register_mask = 0; // the JIT's number of the usual one, combined by exclusive or
    bool frame_size_with_enc = false; // a method of Edit and Continue also states the size of its fixed frame
    bool marks_tail_calls = false;    // flag 0x80 is set for tail calls, not where funclets are
  };
  Kind kind = Kind::unknown;
  // bits: of a group of the length, bytes that it counts in, and bits of the return kind in a fat header.
  unsigned group_bits = 0, unit = 0, return_kind_bits = 0;
  Parts parts;
};

// A stub of the runtime that is recognised by its instructions and jumps through a pointer.
struct StubPattern {
  static constexpr std::int16_t any = -1;     // a byte of an offset to a data cell
  std::span<const std::int16_t> code;         // empty: not known
  std::span<const std::uint8_t> instructions; // offsets of their first bytes
  std::uint8_t target_at = 0;                 // of the signed 32-bit offset to the cell that holds the target
  std::uint8_t target_from = 0;               // what that offset counts from
};

// The effect of one instruction of a stub on the stack.
struct StackEffect {
  unsigned length = 0;     // bytes of the instruction; 0: it is not known
  std::int64_t pushed = 0; // bytes
  bool ends = false;       // control does not go on behind it
};

// The unwind data that covers `ip`.
struct UnwindQuery {
  MemoryReader& memory;
  Address function = 0; // of the RUNTIME_FUNCTION
  Address base = 0;     // what RVAs count from
  Address ip = 0;
  bool leaf = false; // ip is the instruction that runs next: it may lie inside an epilogue
  // True for the target of a jump that stays within the method, in a part with a record of its own.
  const std::function<bool(Address)>& same_method;
};

// How managed code passes arguments. Source: dotnet/runtime src/coreclr/vm/callingconvention.h.
struct ArgumentForm {
  unsigned integer_registers = 0, real_registers = 0; // that pass arguments; 0: not known
  // A larger structure is passed by reference, else on the stack.
  bool large_by_reference = false;
  // Each word of a structure goes into a register of its own kind; else one goes into registers for real
  // numbers only if it is nothing but up to four equal ones.
  bool words_apart = false;
  // Once an argument did not fit, no later one goes into registers of its kind.
  bool in_order = false;
};

// Members that are null or empty say that this is not known of the CPU, or that it has no such thing.
struct Architecture {
  Cpu cpu = Cpu::unknown;

  RegisterRoles roles;
  std::span<const std::string_view> register_names; // by DWARF number, roles.count of them
  std::uint64_t callee_saved = 0;                   // bit n: a callee must preserve register n; not sp and pc
  VectorRegisters vectors;
  JitRegisters jit;
  // A code pointer without its authentication code. Null: code pointers are plain addresses.
  Address (*strip_code_pointer)(Address) = nullptr;
  // Bits of a code pointer that mark the instruction set and are no part of the address.
  Address code_pointer_mark = 0;
  // A called method that the Frame of a P/Invoke names below this is the size of the arguments instead.
  Address least_called_method = 0;

  ContextLayout context;
  SignalFrame signal_frame;
  std::span<const CalleeSavedField> callee_saved_fields;
  ArgumentForm arguments;
  // The runtime's helpers pad the blocks that they push to a multiple of this, in bytes.
  unsigned stack_unit = 1;

  UnwindDataForm unwind_data;
  GcInfoForm gc_info;
  // .NET replaces running code on this CPU, when its descriptor does not tell.
  bool on_stack_replacement = false;
  StubPattern call_counting_stub;

  // Unwind data. Cost of managed_layout: 2 to 4 reads, 2 more for each chained record. Throw
  // Error{memory_missing}, Error{corrupt}, Error{unsupported_contract}.
  FrameLayout (*managed_layout)(const UnwindQuery& query) = nullptr;
  // The record of the RUNTIME_FUNCTION at `function`, then those that it is chained to, as text.
  std::vector<UnwindRecord> (*unwind_records)(MemoryReader& memory, Address function, Address base) = nullptr;
  // Bytes of code that the RUNTIME_FUNCTION at `function` covers.
  std::uint32_t (*function_length)(MemoryReader& memory, Address function, Address base) = nullptr;

  // Instructions. No reads, no errors.
  // Appends the instructions of [begin, end), which are offsets into `code`. Returns the offset of the first
  // one that is not known, or `end`.
  std::uint32_t (*list_instructions)(std::span<const std::byte> code, std::uint32_t begin, std::uint32_t end,
                                     InstructionList& to) = nullptr;
  // The effect of the instruction at the front of `code`. Null where stubs push nothing.
  StackEffect (*stack_effect)(std::span<const std::byte> code) = nullptr;
  // The address that the instruction `bytes` at `at` names. `known`: the register that the instruction before
  // set to an address, and on return the one that this instruction sets.
  std::optional<CodeReference> (*code_reference)(Address at, std::span<const std::byte> bytes,
                                                 std::optional<KnownRegister>& known) = nullptr;
  // Visits every address that `code`, which lies at `start`, may put into a register relative to itself.
  void (*visit_own_addresses)(Address start, std::span<const std::byte> code,
                              const std::function<void(Address)>& visit) = nullptr;

  // Code in front of an address. Cost: 1 read, 2 at the border of memory that is missing.
  // True when a call instruction ends at `return_address`; nothing when the code cannot be read.
  std::optional<bool> (*follows_call)(MemoryReader& memory, Address return_address) = nullptr;
  // The target of the direct call that ends at `return_address`; nothing for other instructions and missing
  // code.
  std::optional<Address> (*direct_call_target)(MemoryReader& memory, Address return_address) = nullptr;
  // The instructions from `ip` on are the rest of an epilogue that ends with an indirect jump. Null where
  // unwind data describes epilogues. Cost: 1 read.
  bool (*leaves_by_indirect_jump)(MemoryReader& memory, Address ip) = nullptr;

  bool walks_stacks() const { return roles.count != 0; }
  // The call leaves the return address on the stack, not in a register.
  bool returns_by_stack() const { return roles.return_address == roles.pc; }
};

// The value of `cpu`; one that knows nothing for Cpu::unknown and for a value that is none of the
// enumeration. It lives as long as the program. No reads.
const Architecture& architecture_of(Cpu cpu);

// The same; throws Error{unsupported_contract} "stacks of the CPU NAME are not supported".
const Architecture& architecture_with_stacks(Cpu cpu);

} // namespace clr
