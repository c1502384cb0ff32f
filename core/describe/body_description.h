// Describes one method body: names, unwinding, and where its instructions begin.
#pragma once

#include "core/describe/code_names.h"
#include "core/describe/unwind_rows.h"
#include "core/dwarf/debug_module.h"
#include "core/isa/code_instructions.h"
#include "core/runtime/runtime.h"

#include <memory>
#include <string>
#include <vector>

namespace clr {

// A body with all that is known of it before it is described.
struct FoundBody {
  CodeBlock block; // at its start
  UnspelledMethod method;
  MethodRegions regions;
  std::vector<ExecutionManager::Function> functions; // ascending within each region
};

// The body that begins where `block` says. Throws Error when its size cannot be told. Cost: that of
// ExecutionManager::layout.
FoundBody find_body(ExecutionManager& code, const CodeBlock& block, UnspelledMethod method);

// One part of a body: hot or cold.
struct DescribedPart {
  DescribedCode code;
  std::uint64_t offset = 0;                       // of its start, hot and cold parts linearised
  std::unique_ptr<CodeInstructions> instructions; // when they were asked for and could be read
};

// Describes bodies of one stop.
class BodyDescriber {
public:
  // `memory` must outlive this. Throws Error{unsupported_contract} for a CPU other than x64 and arm64.
  BodyDescriber(MemoryReader& memory, Cpu cpu) : memory_(&memory), cpu_(cpu), rows_(memory, cpu) {}

  // The main part, and the cold part if there is one, with names and unwinding. `exact`: with its
  // instructions, and a row at every one that needs it. `spelled` is body.method of code that somebody
  // debugs, which then has all names; null: few names, made later. A function whose unwind data cannot be
  // read has no rows, and `fault` says why; the others are not affected. No Error leaves. `parts` is
  // replaced: one list for all bodies keeps its memory. Cost: that of UnwindRows::of_function for each
  // function, and a read of the code when it is exact.
  void describe(const FoundBody& body, bool exact, const Method* spelled, std::vector<DescribedPart>& parts,
                std::string& fault);

private:
  void add_unwinding(DescribedPart& part, const FoundBody& body, bool exact, std::string& fault);

  MemoryReader* memory_;
  Cpu cpu_;
  UnwindRows rows_;
};

} // namespace clr
