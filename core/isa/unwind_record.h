// Unwind data decoded for people: a record with its codes as text. Source of the texts: the decoders of each
// CPU.
#pragma once

#include "core/memory/platform.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

class MemoryReader;

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

// The records of the RUNTIME_FUNCTION at `function`, whose RVAs are relative to `base`: its own, then those
// that it is chained to. Cost: 3 reads, 2 more for each chained record (at most max_x64_chain). Throws Error:
// memory_missing, corrupt; unsupported_contract for a CPU whose unwind data is not decoded.
std::vector<UnwindRecord> unwind_records(MemoryReader& memory, Cpu cpu, Address function, Address base);

} // namespace clr
