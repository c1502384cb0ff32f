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
  Address begin = 0;           // behind the funclet's prologue, when the map tells where that ends
  std::optional<Address> line; // its first code with a line; nothing when a compiler made all of it (using,
                               // foreach, lock, async methods)
};

// Of each funclet of a body, in the order of handler_entries. `points` are the sequence points of the method.
// No reads beside those of handler_entries and regions.
std::vector<HandlerPlace> handler_places(ExecutionManager& code, const CodeBlock& block, const IlMap& map,
                                         const std::vector<SequencePoint>& points);

// Where the thread may go on when the catch funclet that holds block.ip has ended: the funclet returns the
// address to the runtime, so it is one that it loads (lea rax, [rip + ...]) and that lies in the same method
// but not in a funclet of it. x64; empty for the main body. Throws Error as above, and memory_missing. Cost:
// that of handler_entries, and 1 read.
std::vector<Address> resume_places(ExecutionManager& code, MemoryReader& memory, const CodeBlock& block);

constexpr std::uint64_t max_funclet = 1024 * 1024; // bytes that are looked through

} // namespace clr
