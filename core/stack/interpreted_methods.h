// Methods that the runtime's interpreter executes: an InterpreterFrame leads to a list of them.
// Source: dotnet/runtime docs/design/datacontracts/StackWalk.md; src/coreclr/vm/frames.h,
// vm/interpexec.h.
#pragma once

#include "core/target/target.h"

#include <string>
#include <vector>

namespace clr {

// An InterpMethodContextFrame.
struct InterpretedMethod {
  Address node = 0;
  Address ip = 0;          // in byte code; behind the call, as a return address is
  Address stack = 0;       // of the method's variables
  Address method_desc = 0; // 0: not known
  bool faulting = false;   // the newest one only: ip is the instruction itself
};

struct InterpretedMethods {
  std::vector<InterpretedMethod> methods; // newest first
  std::string problem;                    // why the list ends early; empty when it is whole
};

// The methods of the InterpreterFrame at `frame`. Never throws for target data. Cost: 5 reads a method.
InterpretedMethods interpreted_methods(const Target& target, Address frame);

constexpr std::size_t max_interpreted_methods = 100'000;

} // namespace clr
