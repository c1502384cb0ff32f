// A thread of LLDB's that came to a place behind a compilation.
#pragma once

#include "extension/breakpoints/compile_watch.h"

#include <lldb/API/LLDB.h>

#include <vector>

namespace clr::lldb_plugin {

class HitThread final : public CompileWatch::Visitor {
public:
  explicit HitThread(lldb::SBThread& thread) : thread_(&thread) {}

  Address pc() override { return thread_->GetFrameAtIndex(0).GetPC(); }
  std::vector<Address> return_addresses(std::size_t most) override;
  Address return_value() override;

private:
  lldb::SBThread* thread_;
};

} // namespace clr::lldb_plugin
