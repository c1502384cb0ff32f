#include "extension/lldb/registers.h"

#include <string>

namespace clr::lldb_plugin {

// LLDB looks for a formatter of each value whose children may be made up, and the first time it loads Python
// and all formatters for that: 40 ms.
std::optional<std::uint64_t> register_of(lldb::SBFrame& frame, const char* name) {
  lldb::SBValue value = frame.FindRegister(name);
  if (!value.IsValid()) return std::nullopt;
  value.SetPreferSyntheticValue(false);
  lldb::SBError error;
  const std::uint64_t content = value.GetValueAsUnsigned(error, 0);
  return error.Success() ? std::optional(content) : std::nullopt;
}

RegisterContext registers_of(lldb::SBThread& thread, Cpu cpu) {
  RegisterContext registers(cpu);
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  for (unsigned number = 0; number < register_roles(cpu).count; ++number) {
    const std::string name(register_name(cpu, number));
    if (const auto content = register_of(frame, name.c_str())) registers.set(number, *content);
  }
  return registers;
}

} // namespace clr::lldb_plugin
