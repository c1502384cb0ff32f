// The numbers that LLDB's `bt` and `frame select` give to the frames of a stack.
#pragma once

#include "core/runtime/stack_rows.h"

#include <lldb/API/LLDB.h>

#include <map>

namespace clr::lldb_plugin {

// Of one stack. LLDB counts the functions that are inlined in native code as frames of their own.
class FrameNumbers {
public:
  explicit FrameNumbers(lldb::SBTarget target) : target_(std::move(target)) {}

  // LLDB's number of the frame of `row`, the innermost one where functions are inlined there. Rows are given
  // in their order, from the first on, each once; their indexes count up from 0. Never throws. Cost: a look
  // at the symbols of each native place, once.
  unsigned next(const FrameRow& row);

private:
  unsigned inlined_at(Address lookup);

  lldb::SBTarget target_;
  std::map<Address, unsigned> known_; // functions inlined around a place
  unsigned added_ = 0;
  bool interrupted_ = true; // the next frame stands at its instruction, not behind a call
};

} // namespace clr::lldb_plugin
