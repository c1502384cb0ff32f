// Questions about one address that commands and scripts share, also for native code.
#pragma once

#include "core/runtime/runtime.h"
#include "core/stack/unwind_report.h"

#include <functional>
#include <string>

namespace clr {

// Names native code: "libcoreclr.so`JIT_New + 4"; empty when no name is known.
using NativeNamer = std::function<std::string(Address)>;

// Runtime::resolve, and for native code its symbol. Never throws. Cost: that of Runtime::resolve.
runtime::Answer answer_at(Runtime& runtime, Address address, const NativeNamer& native);

struct UnwindAnswer {
  std::string name; // name of the code: "app.dll`Ns.Type.Run() + 4", "libc.so.6`read + 18"
  UnwindReport report;
};

// The unwind data of managed or native code. Cost: that of report_unwind. Throws Error{invalid_argument} with
// the reason when there is none; Error as report_unwind does.
UnwindAnswer unwind_at(Runtime& runtime, MemoryReader& memory, Address ip, const NativeNamer& native);

} // namespace clr
