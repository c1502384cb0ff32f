// Frames that LLDB's own `bt` shows behind those of a thread, by way of its Python (LLDB 22 and later).
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

struct AddedFrame {
  std::string name;
  std::string file; // empty: it has no line
  std::uint32_t line = 0;
};

struct AddedFrames {
  lldb::tid_t thread = 0;
  std::vector<AddedFrame> frames;
};

// Whether this LLDB takes frames, and has a Python. Starts it, which costs some 50 milliseconds the first
// time.
bool can_add_frames(lldb::SBDebugger& debugger);
// From now on the threads of `target`'s process have these frames behind their own, until the next call;
// those that are not named have none. False: this LLDB takes none. The first call for a target has LLDB read
// its stacks anew.
bool add_frames(lldb::SBDebugger& debugger, lldb::SBTarget& target, const std::vector<AddedFrames>& added);
// LLDB asks for no frames any more, of no target of `debugger`.
void take_frames_back(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
