// The rows of a function's unwind table, made from the runtime's unwind data: prologue, body and epilogues.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/publish/debug_module.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

// The bytes of a body and its whereabouts, as UnwindRows needs them.
struct UnwindedBody {
  Address start = 0;      // of the DebugCode: offsets count from here
  std::uint32_t size = 0; // bytes
  // A jump to this address stays in the method (its cold part, a funclet).
  std::function<bool(Address)> same_method;
};

class UnwindRows {
public:
  // `memory` must outlive this. No reads. Throws Error{unsupported_contract} for a CPU other than x64 and
  // arm64.
  UnwindRows(MemoryReader& memory, Cpu cpu);

  // The range of the function whose RUNTIME_FUNCTION is at `entry`, cut to the body; RVAs are relative to
  // `base`. `exact`: x64 epilogues have rows too; it then reads the code. arm64 is exact always. An x64
  // function whose instructions cannot be told apart stays inexact. Throws Error: memory_missing, corrupt,
  // unsupported_contract. Cost: 3 reads, 2 more for each chained record, 1 for the code.
  DebugUnwindRange of_function(const UnwindedBody& body, Address entry, Address base, bool exact);

  static constexpr std::uint32_t max_function_bytes = 16 * 1024 * 1024;

private:
  DebugUnwindRange x64(const UnwindedBody& body, Address entry, Address base, bool exact);
  DebugUnwindRange arm64(const UnwindedBody& body, Address entry, Address base);

  MemoryReader* memory_;
  Cpu cpu_;
};

} // namespace clr
