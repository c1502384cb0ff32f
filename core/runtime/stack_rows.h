// Rows of a stack in the form that commands print, whether core's walker or LLDB's unwinder walked it.
#pragma once

#include "core/isa/registers.h"
#include "core/runtime/answer.h"
#include "core/runtime/exact_methods.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// A stack overflow makes hundreds of thousands of rows, so equal frames share their common parts.
struct FrameRow {
  unsigned index = 0;
  std::string kind = "native"; // "managed", "native", "runtime"
  Address ip = 0;
  std::optional<Address> sp;
  std::string found_by; // "context", "unwind_info", "cfi", "frame_pointer", "runtime_frame", "lldb"
  std::shared_ptr<const MethodAnswer> answer; // managed; its offset belongs to ip
  // What shared generic code of `answer` runs here; null when nothing more is known.
  std::shared_ptr<const Instantiation> exact;
  std::shared_ptr<const Method> method; // runtime, stubs: the method that they refer to; null if none
  std::string module;                   // native: file name
  std::string symbol;                   // native: function, or the kind of a stub
  std::string position;                 // native: " + 18", " at read.c:26"; empty at the function's start
  std::string frame_type;               // runtime: "InlinedCallFrame"
  std::string fault;                    // the problem at this frame; empty when there is none
  std::shared_ptr<const RegisterContext> registers; // when they were requested; null for runtime frames
};

// What a frame is of that the runtime puts around the async methods that it suspends itself: "async_thunk",
// "async_resumption", "async_helper". People are shown the methods without these. "" for every other frame,
// for the one in which the thread stands, and where there is a problem to be told.
std::string_view folded_as(const FrameRow& row);

// The text of the frame for people, without "frame #N: ".
std::string text_of(const FrameRow& row);
// The part of it behind the address of a managed frame: " app.dll`Ns.Type.Run() + 44 at Program.cs:41:9".
std::string text_behind_address(const MethodAnswer& answer);
// The known registers of the frame, "rax = 0x0000000000000001", in the order of the CPU's numbers.
std::vector<std::string> registers_of(const FrameRow& row);

struct ThreadRow {
  unsigned index = 0; // LLDB's number of the thread, from 1
  std::uint64_t os_id = 0;
  std::optional<std::uint32_t> managed_id; // nothing: the runtime does not know the thread
  std::string name;
  bool selected = false;
};

} // namespace clr
