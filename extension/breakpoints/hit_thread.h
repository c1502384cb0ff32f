// A thread of LLDB's that came to a place behind a compilation.
#pragma once

#include "extension/breakpoints/compile_watch.h"

#include <lldb/API/LLDB.h>

#include <initializer_list>
#include <vector>

namespace clr::lldb_plugin {

class HitThread final : public CompileWatch::Visitor {
public:
  explicit HitThread(lldb::SBThread& thread) : thread_(&thread) {}

  Address pc() override { return thread_->GetFrameAtIndex(0).GetPC(); }
  Address compiled_method() override;
  std::vector<Address> return_addresses(std::size_t most) override;
  Address return_value() override;

private:
  // Of the first of these registers that there is; 0: there is none.
  Address register_value(std::initializer_list<const char*> names);

  lldb::SBThread* thread_;
};

} // namespace clr::lldb_plugin
