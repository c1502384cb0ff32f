// Unwind records of managed arm64 code (the Windows arm64 format, on every OS) and their codes as values.
// Source: dotnet/runtime src/coreclr/unwinder/arm64/unwinder.cpp; Microsoft's ARM64 exception handling
// document.
#pragma once

#include "core/isa/frame_layout.h"

namespace clr {

constexpr ByteOrder arm64_byte_order = ByteOrder::little; // .NET runs arm64 in no other

enum class Arm64UnwindOp : std::uint8_t {
  alloc,          // sp += value
  save_registers, // one or two registers, see Arm64UnwindCode
  set_fp,         // sp = fp
  add_fp,         // sp = fp - value
  nop,
  end,
  end_c, // end of the prologue part of a fragment: the codes behind it belong to the real prologue
  save_next,
  trap_frame,
  machine_frame,
  context,
  ec_context,
  clear_unwound_to_call,
  pac_sign_lr,
};
std::string_view to_string(Arm64UnwindOp op); // "alloc", "save", ...

// One decoded unwind code: what undoing it does.
struct Arm64UnwindCode {
  Arm64UnwindOp op = Arm64UnwindOp::nop;
  std::uint16_t index = 0;         // of its first byte, from the start of the codes
  std::uint8_t size = 1;           // bytes
  bool instruction = true;         // stands for one instruction of the prologue
  std::uint64_t value = 0;         // alloc, add_fp: bytes
  std::uint8_t register_count = 0; // save_registers
  unsigned registers[2] = {0, 0};  // DWARF numbers; 64 + n = v n
  std::uint64_t offset = 0;        // bytes from sp to the first register
  std::uint8_t register_size = 8;  // bytes between the two
  std::uint64_t writeback = 0;     // sp += this afterwards
};

struct Arm64EpilogScope {
  std::uint32_t start = 0; // bytes from the start of the function
  std::uint32_t code_index = 0;
  // Instructions that its codes describe; nothing: there are no codes, or damaged ones.
  std::optional<std::uint32_t> size;
};

struct Arm64UnwindInfo {
  Address address = 0;               // of the record; packed form: of the word
  bool packed = false;               // expanded from the packed form
  std::uint32_t function_length = 0; // bytes
  unsigned version = 0;
  bool has_handler = false;
  bool single_epilog = false;
  std::uint32_t epilog_code_index = 0;   // with single_epilog
  std::vector<Arm64EpilogScope> epilogs; // without
  std::vector<std::uint8_t> codes;       // raw bytes
  std::optional<std::uint32_t> handler;  // RVA
};

// Epilogues of one function. The JIT makes four of them for returns, and one more for each tail call.
constexpr std::uint32_t max_arm64_epilogs = 4096;

// Reads the .xdata record. Cost: 2 reads. Throws Error{memory_missing}; Error{corrupt}: unknown version, more
// than max_arm64_epilogs, more of them than instructions.
Arm64UnwindInfo read_arm64_unwind_info(MemoryReader& memory, Address address);
// The codes from byte `first` to the end of the sequence (`end` inclusive; end_c does not end it). Throws
// Error{corrupt}: a reserved code, a code or a sequence that runs past the record.
std::vector<Arm64UnwindCode> decode_arm64_codes(const Arm64UnwindInfo& info, std::uint32_t first);

} // namespace clr
