// The frame layout that unwind data of managed arm64 code describes at each instruction. Source:
// dotnet/runtime src/coreclr/unwinder/arm64/unwinder.cpp; Microsoft's ARM64 exception handling document.
#pragma once

#include "core/isa/arm64/unwind_codes.h"

namespace clr {

struct Arm64RuntimeFunction {
  std::uint32_t begin = 0; // relative to the base that the ExecutionManager tells
  std::uint32_t unwind_data = 0;
};

// One read. Throws Error{memory_missing}.
Arm64RuntimeFunction read_arm64_runtime_function(MemoryReader& memory, Address address);

// A RUNTIME_FUNCTION with its unwind information, in whichever form it is written.
struct Arm64Function {
  Arm64RuntimeFunction entry;
  // The entry only names the RUNTIME_FUNCTION of the function that it belongs to: `entry` and `info` are that
  // one's, and the frame is what it is at that function's start.
  bool at_start_of_parent = false;
  Arm64UnwindInfo info;
};

// Reads the entry at `function`, whose RVAs are relative to `base`. Cost: 1 read for the packed form, 3 for a
// full record, 1 more for a parent. Throws Error{memory_missing}; Error{corrupt}: as
// read_arm64_unwind_info and expand_arm64_packed, a parent that names a parent.
Arm64Function read_arm64_function(MemoryReader& memory, Address function, Address base);

// The layout at `ip` of `function`, whose RVAs are relative to `base`. No reads. Throws Error{corrupt};
// Error{unsupported_contract} for the code of an ARM64EC context.
FrameLayout arm64_layout_at(const Arm64Function& function, Address base, Address ip);
// Offsets from the start of the function where the layout may differ from that of the instruction before:
// each instruction of the prologue and of the epilogues, and what follows them; ascending, from 0 on. Throws
// Error{corrupt}, also beyond max_arm64_layout_changes: each may be a layout of its own.
std::vector<std::uint32_t> arm64_layout_changes(const Arm64UnwindInfo& info);
constexpr std::size_t max_arm64_layout_changes = 16 * 1024;

// The layout at `ip` of the function whose RUNTIME_FUNCTION is at `function`; RVAs are relative to `base`.
// Cost: that of read_arm64_function. Throws Error{memory_missing}, Error{corrupt};
// Error{unsupported_contract} for the code of an ARM64EC context.
FrameLayout arm64_frame_layout(MemoryReader& memory, Address function, Address base, Address ip);

} // namespace clr
