// Managed code that a hardware fault interrupted (a null dereference, a stack overflow) while the runtime's
// handler, and what it called, is still on the stack. The handler's caller is a made-up frame: it leads a
// debugger to the instruction that failed as if that had made a call, and to the stack pointer only when the
// handler runs on the same stack; of the other registers it restores the frame pointer alone.
// Source: dotnet/runtime src/coreclr/pal/src/exception/signal.cpp (ExecuteHandlerOnCustomStack),
// src/coreclr/pal/src/arch/amd64/callsignalhandlerwrapper.S; src/coreclr/vm/frames.h.
#pragma once

#include "core/isa/registers.h"
#include "core/target/target.h"

#include <string>
#include <vector>

namespace clr {

struct InterruptedCode {
  RegisterContext registers; // as the fault left them: pc is the instruction that failed
  Address frame = 0;         // the FaultingExceptionFrame, below the made-up frame on the handler's stack
  friend bool operator==(const InterruptedCode&, const InterruptedCode&) = default;

  // The handler runs on the stack of the code that failed.
  bool on_same_stack() const;
};

// Those of all threads with an exception in flight, in no particular order. Never throws: `problems` says
// what could not be read, or is beyond the limits; what it leaves out is not described. Cost: that of
// read_threads, and for a thread with an exception in flight that of its chain.
struct InterruptedCodes {
  std::vector<InterruptedCode> codes;
  std::vector<std::string> problems;
};
InterruptedCodes interrupted_codes(const Target& target);

constexpr std::size_t max_interrupted_codes = 100, max_interrupted_frames = 200'000; // of all threads

} // namespace clr
