#include "extension/lldb/modules.h"

#include "core/memory/cpu_table.h"
#include "core/memory/path_map.h"
#include "extension/lldb/published_module.h"

#include <fmt/format.h>

#include <cstring>

namespace clr::lldb_plugin {

namespace {
constexpr const char* descriptor_symbol = "DotNetRuntimeContractDescriptor";

std::string path_of(const lldb::SBFileSpec& file) {
  char path[4096];
  if (!file.IsValid() || file.GetPath(path, sizeof path) == 0) return {};
  return path;
}

// LLDB shows a build id as hexadecimal digits with dashes between.
std::vector<std::uint8_t> bytes_of_uuid(const char* text) {
  std::vector<std::uint8_t> bytes;
  if (text == nullptr) return bytes;
  int high = -1;
  for (; *text != '\0'; ++text) {
    const char c = *text;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<std::uint8_t>(high << 4 | digit));
      high = -1;
    }
  }
  // Of a file without a build id LLDB makes one out of a checksum of four bytes.
  return bytes.size() > 4 ? bytes : std::vector<std::uint8_t>{};
}

// Runtime modules only: looking a name up makes LLDB parse a module's symbols.
bool may_hold_runtime(const std::string& path, bool executable) {
  return executable || file_name_of(path).find("coreclr") != std::string_view::npos;
}

std::optional<Address> find_descriptor(lldb::SBTarget& target, lldb::SBModule& module) {
  lldb::SBSymbolContextList found = module.FindSymbols(descriptor_symbol, lldb::eSymbolTypeAny);
  for (std::uint32_t i = 0; i < found.GetSize(); ++i) {
    lldb::SBSymbol symbol = found.GetContextAtIndex(i).GetSymbol();
    const Address at = symbol.GetStartAddress().GetLoadAddress(target);
    if (symbol.IsValid() && at != LLDB_INVALID_ADDRESS) return at;
  }
  return std::nullopt;
}

std::uint64_t size_of(lldb::SBTarget& target, lldb::SBModule& module, Address base) {
  Address end = base;
  for (std::size_t i = 0; i < module.GetNumSections(); ++i) {
    lldb::SBSection section = module.GetSectionAtIndex(i);
    const Address at = section.GetLoadAddress(target);
    if (at == LLDB_INVALID_ADDRESS || at < base) continue;
    const Address section_end = at + section.GetByteSize();
    if (section_end > end) end = section_end;
  }
  return end - base;
}
} // namespace

std::vector<LoadedModule> modules_of(lldb::SBTarget& target) {
  std::vector<LoadedModule> modules;
  for (std::uint32_t i = 0; i < target.GetNumModules(); ++i) {
    lldb::SBModule module = target.GetModuleAtIndex(i);
    if (is_published(module)) continue;
    const Address base = module.GetObjectFileHeaderAddress().GetLoadAddress(target);
    if (base == LLDB_INVALID_ADDRESS) continue;
    LoadedModule loaded;
    loaded.path = path_of(module.GetPlatformFileSpec());
    if (loaded.path.empty()) loaded.path = path_of(module.GetFileSpec());
    loaded.base = base;
    loaded.size = size_of(target, module, base);
    loaded.build_id = build_id_of(module);
    if (may_hold_runtime(loaded.path, i == 0)) loaded.contract_descriptor = find_descriptor(target, module);
    modules.push_back(std::move(loaded));
  }
  return modules;
}

std::vector<std::uint8_t> build_id_of(lldb::SBModule& module) {
  return bytes_of_uuid(module.GetUUIDString());
}

Platform platform_of(lldb::SBTarget& target) {
  const char* text = target.GetTriple();
  const std::string triple = text == nullptr ? "" : text;
  const std::string cpu = triple.substr(0, triple.find('-'));
  Platform platform;
  platform.pointer_size = target.GetAddressByteSize() == 4 ? 4 : 8;
  platform.byte_order = target.GetByteOrder() == lldb::eByteOrderBig ? ByteOrder::big : ByteOrder::little;
  platform.cpu = cpu_of_triple(cpu);
  if (triple.find("windows") != std::string::npos)
    platform.os = Os::windows;
  else if (triple.find("-apple-") != std::string::npos)
    platform.os = Os::apple;
  else if (triple.find("linux") != std::string::npos)
    platform.os = Os::unix_like;
  return platform;
}

std::vector<std::uint64_t> thread_ids_of(lldb::SBProcess& process) {
  std::vector<std::uint64_t> ids;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i)
    ids.push_back(process.GetThreadAtIndex(i).GetThreadID());
  return ids;
}

std::string symbol_at(lldb::SBTarget& target, Address address) {
  lldb::SBAddress resolved = target.ResolveLoadAddress(address);
  lldb::SBModule module = resolved.GetModule();
  if (!module.IsValid() || is_published(module)) return {};
  const char* file = module.GetFileSpec().GetFilename();
  std::string text = file == nullptr ? "" : file;
  lldb::SBSymbol symbol = resolved.GetSymbol();
  if (!symbol.IsValid()) return text;
  const char* name = symbol.GetDisplayName();
  if (name == nullptr) name = symbol.GetName();
  if (name == nullptr) return text;
  text += fmt::format("`{}", name);
  const Address start = symbol.GetStartAddress().GetLoadAddress(target);
  if (start != LLDB_INVALID_ADDRESS && address > start) text += fmt::format(" + {}", address - start);
  return text;
}

} // namespace clr::lldb_plugin
