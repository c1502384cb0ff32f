#include "extension/lldb/native_modules.h"

#include "extension/lldb/modules.h"

namespace clr::lldb_plugin {

std::size_t add_native_modules(lldb::SBTarget& target, std::span<const LoadedModule> modules,
                               const std::function<std::string(const LoadedModule&)>& file_of) {
  std::size_t added = 0;
  for (const LoadedModule& wanted : modules) {
    if (wanted.size == 0 || target.ResolveLoadAddress(wanted.base).GetModule().IsValid()) continue;
    const std::string file = file_of(wanted);
    if (file.empty()) continue;
    lldb::SBModuleSpec spec;
    spec.SetFileSpec(lldb::SBFileSpec(file.c_str(), false));
    lldb::SBModule module(spec);
    if (!module.IsValid() || (!wanted.build_id.empty() && build_id_of(module) != wanted.build_id)) continue;
    const lldb::addr_t header = module.GetObjectFileHeaderAddress().GetFileAddress();
    // One that has an address in this target is loaded elsewhere.
    if (header == LLDB_INVALID_ADDRESS ||
        module.GetObjectFileHeaderAddress().GetLoadAddress(target) != LLDB_INVALID_ADDRESS ||
        !target.AddModule(module))
      continue;
    if (target.SetModuleLoadAddress(module, static_cast<std::int64_t>(wanted.base - header)).Success())
      ++added;
    else
      target.RemoveModule(module);
  }
  return added;
}

} // namespace clr::lldb_plugin
