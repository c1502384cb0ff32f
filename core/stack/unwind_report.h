// The unwind data that covers one instruction, decoded for people: the records with their codes, and where
// the caller's registers lie at this instruction.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/isa/frame_layout.h"
#include "core/isa/unwind_record.h"
#include "core/stack/native_unwinder.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct UnwindReport {
  Address ip = 0;
  Cpu cpu = Cpu::unknown;
  FoundBy source = FoundBy::unwind_info; // unwind_info or cfi
  Address base = 0;                      // of the RVAs; 0 for cfi
  std::vector<UnwindRecord> records; // the one that covers ip, then those that it is chained to; none for cfi
  // At ip, nothing of its instruction done yet.
  FrameLayout layout;
};

// The unwind data of managed code. Cost: that of ManagedUnwinder::layout twice. Throws Error: memory_missing,
// corrupt, unsupported_contract.
UnwindReport report_unwind(ExecutionManager& code, const CodeBlock& block);

// The call frame information of native code; nothing when the module has none for `pc` or when its rules are
// expressions. Cost: that of NativeUnwinder::layout. Throws Error: memory_missing, corrupt.
std::optional<UnwindReport> report_unwind(NativeUnwinder& native, Cpu cpu, Address pc);

// "CFA = rsp + 0x38", then one line for each saved register: "rbx at CFA - 0x18".
std::vector<std::string> describe_layout(Cpu cpu, const FrameLayout& layout);

} // namespace clr
