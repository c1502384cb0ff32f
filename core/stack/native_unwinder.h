// Unwinds native code of any loaded module from any register context: DWARF call frame information, evaluated
// for the target's CPU on any host, with the frame pointer as the last resort.
//
// The CFI (PT_GNU_EH_FRAME) is read through target memory. Where a core lacks those pages, a reader that
// fills read-only segments from the module's own file (same build id) under this unwinder supplies them; so
// live processes, whole cores, default cores and the vDSO take one path. elfutils' libdw runs the
// program of an entry, which was looked through before; the rules are evaluated here and not by libdwfl,
// because a walker of mixed stacks needs single steps from any context, the CFA and the slot of the return
// address, and rows that are kept per instruction. Source: DWARF 5 section 6.4; Linux Standard Base,
// .eh_frame and .eh_frame_hdr.
#pragma once

#include "core/isa/frame_layout.h"
#include "core/memory/loaded_module.h"

#include <memory>
#include <vector>

namespace clr {

class NativeUnwinder {
public:
  // `memory` must outlive this. Modules may overlap (images mapped inside a bundle): the one that begins
  // closest below an address owns it. No reads.
  NativeUnwinder(MemoryReader& memory, Platform platform, std::vector<LoadedModule> modules);
  ~NativeUnwinder();

  const std::vector<LoadedModule>& modules() const;
  // The module that holds `address`, null if none. No reads, except those of opening a module the first
  // time when its size is unknown.
  const LoadedModule* module_at(Address address);

  // The caller of the frame with `context`. `leaf`: pc is the instruction that runs next (the thread's own
  // registers, or the caller of an interrupted frame); otherwise a return address, and the call before it is
  // looked up. Tries by_code; then, for a leaf whose pc is in no module (a call through a bad pointer), the
  // return address that the call left; then the frame pointer. found_by says which; a result of the last two
  // is accepted only when its return address is behind a call instruction or in a module. Cost: warm, one
  // read of the stack. The first pc of a module reads its program headers and its CFI (3 to 5 reads). Throws
  // Error{memory_missing}, Error{corrupt} when no way leads out; the text tells why CFI failed.
  Unwound unwind(const RegisterContext& context, bool leaf);

  // The steps of unwind, each alone.
  // The caller that the code itself tells: by CFI, by being a signal trampoline, or, for a leaf without CFI,
  // by a return address behind a call to just here. Nothing when it tells nothing.
  std::optional<Unwound> by_code(const RegisterContext& context, bool leaf);
  // The frame is its return address only (x64: at sp, arm64: in lr): stubs, a call to a bad pointer.
  Unwound frameless(const RegisterContext& context);
  Unwound by_frame_pointer(const RegisterContext& context);

  // The CFI row of `pc` as a layout, for tables of unwind data; nothing when there is none or when the row
  // needs DWARF expressions.
  std::optional<FrameLayout> layout(Address pc);

  // The same of the function of a frame whose caller was found in the way `found_by`: what unwind() took
  // where no row tells. Nothing when that cannot be said of the code alone.
  std::optional<FrameLayout> layout(Address pc, bool leaf, FoundBy found_by);
  // Where the function of `pc` begins, as CfiModule::function_start tells.
  std::optional<Address> function_start(Address pc);

  // True when a call instruction ends at `return_address`; nothing when the code cannot be read.
  std::optional<bool> follows_call(Address return_address);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
