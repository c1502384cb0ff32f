// The places of the caller's registers at one instruction of a function, and their evaluation on a register
// context. Every decoder of unwind data (x64, arm64, simple DWARF CFI) yields such a layout. It depends on
// the code only, so it can be kept per instruction for a whole stop.
#pragma once

#include "core/isa/registers.h"

#include <vector>

namespace clr {

// The way in which the context of a frame was found. The words of "found_by" in JSON.
enum class FoundBy : std::uint8_t { context, unwind_info, cfi, frame_pointer, runtime_frame, lldb, stub };
std::string_view to_string(FoundBy found_by); // "context", "unwind_info", ...

// The address (value of a register at this instruction) + offset.
struct RegisterOffset {
  unsigned reg = 0; // DWARF number
  std::int64_t offset = 0;
  friend bool operator==(const RegisterOffset&, const RegisterOffset&) = default;
};

// The caller's value of `reg` is the pointer stored at `at`. Vector registers (Architecture::vectors) have a
// place here too; their value is not read.
struct SavedRegister {
  unsigned reg = 0; // DWARF number
  RegisterOffset at;
  friend bool operator==(const SavedRegister&, const SavedRegister&) = default;
};

struct FrameLayout {
  // The caller's stack pointer once the call has returned: the canonical frame address.
  RegisterOffset cfa;
  // Each register once, in no particular order. x64: rip is among them (its slot is the return address).
  // arm64: pc is the caller's lr; when lr is not among them the return address is still in lr.
  std::vector<SavedRegister> saved;
  // Machine frames: the caller's stack pointer is stored here, and is not the CFA.
  std::optional<RegisterOffset> stack_pointer_at;
  // An interrupt or signal lies between: all registers of the caller are live, its pc is the exact
  // instruction.
  bool interrupted = false;
  // arm64: the saved return address is signed.
  bool signed_return_address = false;
  // DWARF: the return address is undefined; this is the outermost function of the thread.
  bool outermost = false;

  // Place of `reg`, if it is saved.
  const SavedRegister* find(unsigned reg) const;
  // Replaces or adds.
  void save(unsigned reg, RegisterOffset at);
  // The place as an offset from the CFA; nothing when it is relative to another register.
  std::optional<std::int64_t> offset_from_cfa(const SavedRegister& saved_register) const;
};

// One step outward.
struct Unwound {
  RegisterContext caller; // volatile registers are unknown unless `interrupted`
  Address cfa = 0;
  std::optional<Address> return_address_at; // the slot, when it lies in memory
  FoundBy found_by = FoundBy::unwind_info;
  bool interrupted = false; // the caller's pc is exact, not a return address
  bool outermost = false;   // there is no caller; `caller` is empty
};

// Evaluates `layout` on `context`. Cost: one read of stack memory as a rule. A saved register whose memory is
// missing becomes unknown in the caller; a missing return address or stack pointer throws
// Error{memory_missing}; a base register that `context` does not know throws Error{register_unknown}.
Unwound apply_layout(MemoryReader& memory, const FrameLayout& layout, const RegisterContext& context,
                     FoundBy found_by);

// Address of each saved register in a frame with `context`. No reads; throws Error{register_unknown} for a
// base register that `context` does not know.
struct SavedAt {
  unsigned reg = 0;
  Address address = 0;
};
std::vector<SavedAt> saved_addresses(const FrameLayout& layout, const RegisterContext& context);

} // namespace clr
