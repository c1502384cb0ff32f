#include "extension/breakpoints/hit_thread.h"

#include "extension/lldb/registers.h"

namespace clr::lldb_plugin {

std::vector<Address> HitThread::return_addresses(std::size_t most) {
  std::vector<Address> found;
  // How many frames there are is known only when all of them have been found.
  for (std::uint32_t i = 1; i <= most; ++i) {
    lldb::SBFrame frame = thread_->GetFrameAtIndex(i);
    if (!frame.IsValid() || !frame.GetModule().IsValid()) break;
    found.push_back(frame.GetPC());
  }
  return found;
}

Address HitThread::register_value(std::initializer_list<const char*> names) {
  lldb::SBFrame frame = thread_->GetFrameAtIndex(0);
  for (const char* name : names)
    if (const auto value = register_of(frame, name)) return *value;
  return 0;
}

Address HitThread::return_value() {
  return register_value({"rax", "x0"});
}

// Source: dotnet/runtime src/coreclr/inc/corjit.h, ICorJitCompiler::compileMethod, whose third argument
// counts `this`; corinfo.h, CORINFO_METHOD_INFO, which begins with the method's handle.
Address HitThread::compiled_method() {
  const Address info = register_value({"rdx", "x2"});
  if (info == 0) return 0;
  lldb::SBError error;
  const Address method = thread_->GetProcess().ReadPointerFromMemory(info, error);
  return error.Success() ? method : 0;
}

} // namespace clr::lldb_plugin
