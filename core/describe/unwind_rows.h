// The rows of a function's unwind table, made from the runtime's unwind data: prologue, body and epilogues.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/isa/code_instructions.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace clr {

struct X64UnwindChain;

// The part of a method that a function lies in.
struct UnwindedBody {
  Address start = 0;      // of the DebugCode: offsets count from here
  std::uint32_t size = 0; // bytes
  CodeInstructions* instructions = nullptr;
  // A jump to this address stays in the method (its cold part, a funclet).
  std::function<bool(Address)> same_method;
};

class UnwindRows {
public:
  // `memory` must outlive this. No reads. Throws Error{unsupported_contract} for a CPU whose stacks are not
  // walked.
  UnwindRows(MemoryReader& memory, Cpu cpu);

  // The range of the function whose RUNTIME_FUNCTION is at `entry`, cut to the body; RVAs are relative to
  // `base`. With the body's instructions x64 epilogues have rows too, and the range is exact where all of
  // them are known; arm64's unwind data describes epilogues itself. Throws Error: memory_missing, corrupt,
  // unsupported_contract. Cost: 2 reads for a prologue that was met before, else 5, 2 more for each chained
  // record.
  DebugUnwindRange of_function(const UnwindedBody& body, Address entry, Address base);

  // Lets a range end before code of another.
  static void cut_end(DebugUnwindRange& range, std::uint32_t end);

private:
  DebugUnwindRange x64(const UnwindedBody& body, Address entry, Address base);
  DebugUnwindRange arm64(const UnwindedBody& body, Address entry, Address base);
  // The rows of a whole prologue at offset 0 that has the unwind information at `address`, when they depend
  // on that alone. Sets key_; empty: they do not.
  const DebugUnwindRows* known_prologue(Address address, std::uint32_t function_size);

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  MemoryReader* memory_;
  UnwindDataForm::Kind form_;
  std::unordered_map<std::string, DebugUnwindRows, TextHash, std::equal_to<>> prologues_; // by unwind info
  std::string key_; // of the function at hand
};

} // namespace clr
