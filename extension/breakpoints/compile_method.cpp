#include "extension/breakpoints/compile_method.h"

#include "core/execution/jit_entry.h"
#include "core/memory/path_map.h"

#include <array>
#include <span>

namespace clr::lldb_plugin {

namespace {
constexpr const char* jit_file = "libclrjit.so";
}

lldb::addr_t find_compile_method(lldb::SBTarget target, Session& session) {
  Runtime& runtime = session.runtime();
  const LoadedModule* jit = nullptr;
  for (const LoadedModule& module : runtime.modules())
    if (file_name_of(module.path) == jit_file) jit = &module;
  if (jit != nullptr) {
    lldb::SBSymbolContextList found = target.FindSymbols("getJit", lldb::eSymbolTypeCode);
    for (std::uint32_t i = 0; i < found.GetSize(); ++i) {
      const lldb::addr_t at = found.GetContextAtIndex(i).GetSymbol().GetStartAddress().GetLoadAddress(target);
      if (at < jit->base || at - jit->base >= jit->size) continue;
      std::array<std::byte, max_get_jit> code{};
      const std::size_t got = session.memory().read_some(at, code);
      const auto entry = compile_method_of_export(session.memory(), runtime.platform(), at,
                                                  std::span(code).first(got), *jit);
      if (entry) return *entry;
    }
  }
  if (runtime.absence() != nullptr) return 0;
  if (jit == nullptr) jit = runtime.module_at(runtime.summary().descriptor);
  if (jit == nullptr) return 0;
  for (const RangeSection& section : runtime.code()->sections()) {
    if ((section.flags & RangeSection::code_heap) == 0 || section.r2r_module != 0) continue;
    if (const auto entry =
            compile_method_of_manager(session.memory(), runtime.platform(), section.jit_manager, *jit))
      return *entry;
  }
  return 0;
}

} // namespace clr::lldb_plugin
