// Methods that the runtime's interpreter executes: an InterpreterFrame leads to a list of them.
// Source: dotnet/runtime docs/design/datacontracts/StackWalk.md; src/coreclr/vm/frames.h,
// vm/interpexec.h.
#pragma once

#include "core/target/target.h"

#include <string>
#include <unordered_map>
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

constexpr std::size_t max_interpreted_methods = 100'000;
// Nodes that are looked at for all InterpreterFrames of one walk, many of which may lead to the same list:
// ten times as many as one list may have.
constexpr std::size_t max_interpreted_nodes = 1'000'000;

// What the lists of one walk have in common.
struct InterpretedLists {
  std::size_t nodes = 0;                       // that were looked at
  std::unordered_map<Address, Address> newest; // node in use, by the hint of a Frame
};

// The methods of the InterpreterFrame at `frame`. Never throws for target data. Cost: 5 reads a method, and 2
// for each node between the hint of the Frame and the newest node in use, once for each hint. Beyond
// max_interpreted_nodes of all `lists` the answer has a problem.
InterpretedMethods interpreted_methods(const Target& target, Address frame, InterpretedLists& lists);
// The same of one Frame alone.
InterpretedMethods interpreted_methods(const Target& target, Address frame);

} // namespace clr
