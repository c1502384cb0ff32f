#include "extension/breakpoints/hit_thread.h"

#include <algorithm>

namespace clr::lldb_plugin {

std::vector<Address> HitThread::return_addresses(std::size_t most) {
  std::vector<Address> found;
  const std::uint32_t frames = std::min(thread_->GetNumFrames(), static_cast<std::uint32_t>(most) + 1);
  for (std::uint32_t i = 1; i < frames; ++i) {
    lldb::SBFrame frame = thread_->GetFrameAtIndex(i);
    if (!frame.GetModule().IsValid()) break;
    found.push_back(frame.GetPC());
  }
  return found;
}

Address HitThread::return_value() {
  lldb::SBFrame frame = thread_->GetFrameAtIndex(0);
  for (const char* name : {"rax", "x0"}) {
    lldb::SBValue value = frame.FindRegister(name);
    if (value.IsValid()) return value.GetValueAsUnsigned(0);
  }
  return 0;
}

} // namespace clr::lldb_plugin
