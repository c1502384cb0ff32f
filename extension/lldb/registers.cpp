#include "extension/lldb/registers.h"

#include <string>

namespace clr::lldb_plugin {

RegisterContext registers_of(lldb::SBThread& thread, Cpu cpu) {
  RegisterContext registers(cpu);
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  for (unsigned number = 0; number < register_roles(cpu).count; ++number) {
    const std::string name(register_name(cpu, number));
    lldb::SBValue value = frame.FindRegister(name.c_str());
    lldb::SBError error;
    const std::uint64_t content = value.GetValueAsUnsigned(error, 0);
    if (value.IsValid() && error.Success()) registers.set(number, content);
  }
  return registers;
}

} // namespace clr::lldb_plugin
