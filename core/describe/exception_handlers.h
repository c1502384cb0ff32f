// Finds where the exception handlers of a method begin, and where the method goes on behind them. A debugger
// needs both to follow a thread into a handler and out of it. Source: dotnet/runtime
// docs/design/coreclr/botr/clr-abi.md (funclets, "Catch funclets").
#pragma once

#include "core/debuginfo/il_map.h"
#include "core/execution/execution_manager.h"
#include "core/metadata/portable_pdb.h"

#include <optional>
#include <vector>

namespace clr {

// First addresses of the funclets (catch, finally, fault and filter handlers) of a body, ascending. Throws
// Error as ExecutionManager::functions does. Cost: that of functions, then that of funclet_start for each.
std::vector<Address> handler_entries(ExecutionManager& code, const CodeBlock& block);

// Where a debugger stops in a handler.
struct HandlerPlace {
  Address entry = 0;           // where the funclet begins
  Address begin = 0;           // behind the funclet's prologue, when the map tells where that ends
  std::optional<Address> line; // its first code with a line; nothing when a compiler made all of it (using,
                               // foreach, lock, async methods)
};

// Of each funclet of a body, in the order of handler_entries. `points` are the sequence points of the method.
// No reads beside those of handler_entries and regions.
std::vector<HandlerPlace> handler_places(ExecutionManager& code, const CodeBlock& block, const IlMap& map,
                                         const std::vector<SequencePoint>& points);

// Where a thread leaves a catch funclet, and where it goes on then.
struct ResumePlace {
  Address left = 0;   // in the funclet, behind the instruction that loads `begins`
  Address begins = 0; // in the method's body: in the main part, or in the funclet that holds the `try`
};

// Of the catch funclet that holds block.ip: it returns the address to go on at to the runtime, so that is one
// that it loads (lea rax, [rip + ...]) and that lies in the same method but not in this funclet. x64;
// empty for the main body. Throws Error as above, and memory_missing. Cost: that of handler_entries, and 1
// read.
std::vector<ResumePlace> resume_places(ExecutionManager& code, MemoryReader& memory, const CodeBlock& block);

constexpr std::uint64_t max_funclet = 1024 * 1024; // bytes that are looked through

} // namespace clr
