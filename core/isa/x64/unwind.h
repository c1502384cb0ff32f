// UNWIND_INFO of managed x64 code (the Windows x64 format, on every OS), decoded into values, and the frame
// layout that it describes at each instruction.
// Source: dotnet/runtime src/coreclr/unwinder/amd64/unwinder.cpp, src/coreclr/inc/win64unwind.h.
#pragma once

#include "core/isa/frame_layout.h"

#include <functional>

namespace clr {

enum class X64UnwindOp : std::uint8_t {
  push_nonvol = 0,
  alloc_large = 1,
  alloc_small = 2,
  set_fpreg = 3,
  save_nonvol = 4,
  save_nonvol_far = 5,
  epilog = 6,
  spare = 7,
  save_xmm128 = 8,
  save_xmm128_far = 9,
  push_machframe = 10,
  set_fpreg_large = 11, // CoreCLR's own, Unix only
};
std::string_view to_string(X64UnwindOp op); // "PUSH_NONVOL", ...

// One decoded unwind code.
struct X64UnwindCode {
  std::uint8_t prolog_offset = 0; // of the end of the instruction, from the start of the function
  X64UnwindOp op = X64UnwindOp::push_nonvol;
  std::uint8_t info = 0;   // as stored
  std::uint64_t value = 0; // bytes: size of the allocation, offset of the save, offset of the frame register;
                           // push_machframe: 1 with an error code
};

// A RUNTIME_FUNCTION. All three are relative to the base that the ExecutionManager tells.
struct X64RuntimeFunction {
  std::uint32_t begin = 0;
  std::uint32_t end = 0; // exclusive
  std::uint32_t unwind_data = 0;
};

struct X64UnwindInfo {
  static constexpr std::uint8_t exception_handler = 1, termination_handler = 2, chained_info = 4;

  unsigned version = 0;
  std::uint8_t flags = 0;
  std::uint8_t prolog_size = 0;    // bytes
  std::uint8_t frame_register = 0; // machine number (5 = rbp); 0: none
  std::uint64_t frame_offset = 0;  // bytes; of SET_FPREG_LARGE when there is one
  std::vector<X64UnwindCode> codes;
  std::optional<X64RuntimeFunction> parent; // with flag chained_info
  std::optional<std::uint32_t> handler;     // RVA, with a handler flag
};

// DWARF number of a register of unwind codes (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8..15).
unsigned x64_dwarf_register(unsigned machine_register);

// One read each. Throw Error{memory_missing}, Error{corrupt}.
X64RuntimeFunction read_x64_runtime_function(MemoryReader& memory, Address address);
// Cost: 2 reads. Error{corrupt}: unknown version or operation, codes that run past their count.
X64UnwindInfo read_x64_unwind_info(MemoryReader& memory, Address address);

// A function's record and those that it is chained to, in their order.
struct X64UnwindChain {
  struct Link {
    X64RuntimeFunction entry;
    X64UnwindInfo info;
  };
  Address base = 0;        // what RVAs are relative to
  std::vector<Link> links; // at least one

  Address begin() const { return base + links.front().entry.begin; }
  Address end() const { return base + links.front().entry.end; }
  bool chained() const { return (links.front().info.flags & X64UnwindInfo::chained_info) != 0; }
  unsigned frame_register() const { return links.front().info.frame_register; } // machine number; 0: none
};

// The records of the function whose RUNTIME_FUNCTION is at `function`; RVAs are relative to `base`. Cost: 3
// reads, 2 more for each chained record. Throws Error{memory_missing}; Error{corrupt}: as
// read_x64_unwind_info, more than max_x64_chain records.
X64UnwindChain read_x64_unwind_chain(MemoryReader& memory, Address function, Address base);
// The layout at `ip`, epilogues aside: what holds behind a return address. No reads. Throws Error{corrupt}.
FrameLayout x64_layout_at(const X64UnwindChain& chain, Address ip);

// The layout at `ip` of the function whose RUNTIME_FUNCTION is at `function`; RVAs are relative to `base`.
// `leaf`: ip is the instruction that runs next; only then the instructions at ip are read and an epilogue is
// recognised. (A return address is never inside an epilogue; at its first instruction the unwind codes still
// hold.) Cost: that of read_x64_unwind_chain, 1 more for a leaf.
// `same_method` (may be empty) tells that a jump target outside of the record belongs to the same method: its
// cold part.
FrameLayout x64_frame_layout(MemoryReader& memory, Address function, Address base, Address ip, bool leaf,
                             const std::function<bool(Address)>& same_method = {});

constexpr unsigned max_x64_chain = 32;

} // namespace clr
