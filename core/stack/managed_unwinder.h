// Unwinds managed code by the runtime's unwind data, whatever the CPU, and keeps the decoded layouts.
#pragma once

#include "core/execution/execution_manager.h"
#include "core/isa/frame_layout.h"

#include <unordered_map>

namespace clr {

class ManagedUnwinder {
public:
  // Throws Error{unsupported_contract} for a CPU whose stacks are not walked. `code` must outlive this. No
  // reads.
  explicit ManagedUnwinder(ExecutionManager& code);

  // The layout at block.ip. `leaf`: ip is the instruction that runs next; only then can it lie inside an
  // epilogue. Cost: 3 reads of unwind data beside what ExecutionManager::unwind_info needs, 1 more of
  // instructions for an x64 leaf; the same ip again: 0. The reference is valid until the next call. Throws
  // Error: memory_missing, corrupt, unsupported_contract.
  const FrameLayout& layout(const CodeBlock& block, bool leaf);

  // The caller of the frame of `block` with `context` (its pc is block.ip). Cost: layout() and one read of
  // the stack. Throws Error as layout and apply_layout do.
  Unwound unwind(const CodeBlock& block, const RegisterContext& context, bool leaf);

  const Target& target() const { return code_->target(); }

private:
  ExecutionManager* code_;
  FrameLayout (*layout_at_)(const UnwindQuery& query);  // of the target's CPU
  std::unordered_map<Address, FrameLayout> layouts_[2]; // by ip; return addresses, leaves
};

} // namespace clr
