// Rows of a stack as commands print them, whoever walked it: the core's walker or LLDB's unwinder.
#pragma once

#include "core/isa/registers.h"
#include "core/runtime/answer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// A stack overflow makes hundreds of thousands of these: what equal frames have in common is shared.
struct FrameRow {
  unsigned index = 0;
  std::string kind = "native"; // "managed", "native", "runtime"
  Address ip = 0;
  std::optional<Address> sp;
  std::string found_by; // "context", "unwind_info", "cfi", "frame_pointer", "runtime_frame", "lldb"
  std::shared_ptr<const MethodAnswer> answer; // managed; its offset is that of ip
  std::shared_ptr<const Method> method;       // runtime, stubs: the method that they name; null if none
  std::string module;                         // native: file name
  std::string symbol;                         // native: function, or what a stub is
  std::string position;   // native: " + 18", " at read.c:26"; empty at the function's start
  std::string frame_type; // runtime: "InlinedCallFrame"
  std::string fault;      // what went wrong at this frame; empty when nothing did
  std::shared_ptr<const RegisterContext> registers; // when they were asked for; null for runtime frames
};

// The frame as people read it, without "frame #N: ".
std::string text_of(const FrameRow& row);
// Its registers, those that are known, "rax = 0x0000000000000001", in the order of the CPU's numbers.
std::vector<std::string> registers_of(const FrameRow& row);

struct ThreadRow {
  unsigned index = 0; // as LLDB numbers threads, from 1
  std::uint64_t os_id = 0;
  std::optional<std::uint32_t> managed_id; // nothing: the runtime does not know the thread
  std::string name;
  bool selected = false;
};

} // namespace clr
