// Unwind data of managed arm64 code (the Windows arm64 format, on every OS), decoded into values, and the
// frame layout that it describes at each instruction. Source: dotnet/runtime
// src/coreclr/unwinder/arm64/unwinder.cpp; Microsoft's ARM64 exception handling document.
#pragma once

#include "core/isa/frame_layout.h"

namespace clr {

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

struct Arm64RuntimeFunction {
  std::uint32_t begin = 0; // relative to the base that the ExecutionManager tells
  std::uint32_t unwind_data = 0;
};

// One read. Throws Error{memory_missing}.
Arm64RuntimeFunction read_arm64_runtime_function(MemoryReader& memory, Address address);
// Reads the .xdata record. Cost: 2 reads. Throws Error{memory_missing}; Error{corrupt}: unknown version.
Arm64UnwindInfo read_arm64_unwind_info(MemoryReader& memory, Address address);
// The codes from byte `first` to the end of the sequence (`end` inclusive; end_c does not end it). Throws
// Error{corrupt}: a reserved code, a code or a sequence that runs past the record.
std::vector<Arm64UnwindCode> decode_arm64_codes(const Arm64UnwindInfo& info, std::uint32_t first);

// A RUNTIME_FUNCTION with its unwind information, in whichever form it is written.
struct Arm64Function {
  Arm64RuntimeFunction entry;
  // The entry only names the RUNTIME_FUNCTION of the function that it belongs to: `entry` and `info` are that
  // one's, and the frame is what it is at that function's start.
  bool at_start_of_parent = false;
  Arm64UnwindInfo info;
};

// Reads the entry at `function`, whose RVAs are relative to `base`. Cost: 1 read for the packed form, 3 for a
// full record, 1 more for a parent. Throws Error{memory_missing}; Error{corrupt}: as
// read_arm64_unwind_info and expand_arm64_packed, a parent that names a parent.
Arm64Function read_arm64_function(MemoryReader& memory, Address function, Address base);

// The layout at `ip` of `function`, whose RVAs are relative to `base`. No reads. Throws Error{corrupt};
// Error{unsupported_contract} for the code of an ARM64EC context.
FrameLayout arm64_layout_at(const Arm64Function& function, Address base, Address ip);
// Offsets from the start of the function where the layout may differ from that of the instruction before:
// each instruction of the prologue and of the epilogues, and what follows them; ascending, from 0 on. Throws
// Error{corrupt}.
std::vector<std::uint32_t> arm64_layout_changes(const Arm64UnwindInfo& info);

// The layout at `ip` of the function whose RUNTIME_FUNCTION is at `function`; RVAs are relative to `base`.
// Cost: that of read_arm64_function. Throws Error{memory_missing}, Error{corrupt};
// Error{unsupported_contract} for the code of an ARM64EC context.
FrameLayout arm64_frame_layout(MemoryReader& memory, Address function, Address base, Address ip);

} // namespace clr
