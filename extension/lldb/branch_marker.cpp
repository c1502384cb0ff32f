#include "extension/lldb/branch_marker.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr std::array<std::uint8_t, 4> endbr64{0xf3, 0x0f, 0x1e, 0xfa};
constexpr std::size_t words_of_breakpoint = 2; // of a stop's reason: the breakpoint's number, its location's
} // namespace

void pass_branch_marker(lldb::SBThread& thread, lldb::addr_t place) {
  if (thread.GetStopReason() != lldb::eStopReasonBreakpoint ||
      thread.GetStopReasonDataCount() != words_of_breakpoint)
    return;
  lldb::SBProcess process = thread.GetProcess();
  const char* const triple = process.GetTarget().GetTriple();
  if (triple == nullptr || !std::string_view(triple).starts_with("x86_64")) return;
  std::array<std::uint8_t, endbr64.size()> code{};
  lldb::SBError error;
  // LLDB shows what is below its traps.
  if (process.ReadMemory(place, code.data(), code.size(), error) != code.size() || code != endbr64) return;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (frame.GetPC() == place) frame.SetPC(place + code.size());
}

} // namespace clr::lldb_plugin
