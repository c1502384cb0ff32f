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

Address function_in(lldb::SBTarget& target, std::string_view file, const char* name) {
  for (std::uint32_t i = 0; i < target.GetNumModules(); ++i) {
    lldb::SBModule module = target.GetModuleAtIndex(i);
    const char* const module_file = module.GetFileSpec().GetFilename();
    if (module_file == nullptr || !std::string_view(module_file).starts_with(file)) continue;
    const Address at =
        module.FindSymbol(name, lldb::eSymbolTypeCode).GetStartAddress().GetLoadAddress(target);
    if (at != LLDB_INVALID_ADDRESS) return at;
  }
  return 0;
}

} // namespace clr::lldb_plugin
