// One method body as values of debug information.
#pragma once

#include "core/publish/debug_module.h"
#include "core/publish/unwind_rows.h"
#include "core/runtime/runtime.h"

#include <string>
#include <vector>

namespace clr {

// A body with all that the catalog knows of it before it is described.
struct FoundBody {
  CodeBlock block; // at its start
  Method method;
  MethodRegions regions;
  std::vector<ExecutionManager::Function> functions;
};

// The body that begins where `block` says, and its method. Throws Error when its size cannot be told. Cost:
// that of ExecutionManager::regions and functions.
FoundBody find_body(Runtime& runtime, const CodeBlock& block, Method method);

// Its main part, and the cold part if there is one, with names and unwinding. A part whose unwind data cannot
// be read has none, and `fault` says why; other parts are not affected. Never throws. Cost: that of
// UnwindRows::of_function for each function.
std::vector<DebugCode> describe_body(const FoundBody& body, UnwindRows& rows, bool exact, std::string& fault);

} // namespace clr
