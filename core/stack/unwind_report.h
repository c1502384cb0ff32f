// The unwind data that covers one instruction, decoded for people: the records with their codes, and where
// the caller's registers lie at this instruction.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/isa/frame_layout.h"
#include "core/stack/native_unwinder.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

// One unwind code as it is written in the record, in the record's order (the last instruction of the prologue
// first).
struct UnwindStep {
  // Bytes from the start of the function to the end of the instruction; arm64 codes do not state it.
  std::optional<std::uint32_t> prologue_offset;
  std::string op;   // "PUSH_NONVOL", "save"
  std::string what; // "rbx", "0x28 bytes"; empty when the operation says it all
};

// A RUNTIME_FUNCTION and the unwind information that it names.
struct UnwindRecord {
  Address function = 0;       // of the RUNTIME_FUNCTION; 0 for the parent of a chained record (x64)
  Address begin = 0, end = 0; // code that it covers; end exclusive
  Address unwind_info = 0;    // 0: arm64 packed form, within the RUNTIME_FUNCTION
  unsigned version = 0;
  std::vector<std::string> details; // "prologue of 12 bytes", "frame register rbp = rsp + 0x40"
  std::vector<UnwindStep> steps;
};

struct UnwindReport {
  Address ip = 0;
  Cpu cpu = Cpu::unknown;
  FoundBy source = FoundBy::unwind_info; // unwind_info or cfi
  Address base = 0;                      // of the RVAs; 0 for cfi
  std::vector<UnwindRecord> records; // the one that covers ip, then those that it is chained to; none for cfi
  // At ip, nothing of its instruction done yet.
  FrameLayout layout;
};

// The records of the RUNTIME_FUNCTION at `function`, whose RVAs are relative to `base`: its own, then those
// that it is chained to. Cost: 3 reads, 2 more for each chained record (at most max_x64_chain). Throws Error:
// memory_missing, corrupt.
std::vector<UnwindRecord> unwind_records(MemoryReader& memory, Cpu cpu, Address function, Address base);

// The unwind data of managed code. Cost: that of ManagedUnwinder::layout twice. Throws Error: memory_missing,
// corrupt, unsupported_contract. Source as of unwind_x64.h and unwind_arm64.h.
UnwindReport report_unwind(ExecutionManager& code, const CodeBlock& block);

// The call frame information of native code; nothing when the module has none for `pc` or when its rules are
// expressions. Cost: that of NativeUnwinder::layout. Throws Error: memory_missing, corrupt.
std::optional<UnwindReport> report_unwind(NativeUnwinder& native, Cpu cpu, Address pc);

// "CFA = rsp + 0x38", then one line for each saved register: "rbx at CFA - 0x18".
std::vector<std::string> describe_layout(Cpu cpu, const FrameLayout& layout);
// "rbx", "xmm6", "v8": also the vector registers, which a RegisterContext does not hold.
std::string saved_register_name(Cpu cpu, unsigned reg);

} // namespace clr
