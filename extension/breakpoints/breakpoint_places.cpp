#include "extension/breakpoints/breakpoint_places.h"

#include "core/memory/path_map.h"

#include <algorithm>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
void add(std::vector<Address>& places, lldb::SBTarget& target, lldb::SBAddress address) {
  if (!address.IsValid() || places.size() >= max_places) return;
  const lldb::addr_t at = address.GetLoadAddress(target);
  if (at != LLDB_INVALID_ADDRESS) places.push_back(at);
}

void add(std::vector<Address>& places, lldb::SBTarget& target, lldb::SBSymbolContextList found) {
  for (std::uint32_t i = 0; i < found.GetSize(); ++i) {
    lldb::SBSymbolContext context = found.GetContextAtIndex(i);
    if (context.GetFunction().IsValid())
      add(places, target, context.GetFunction().GetStartAddress());
    else if (context.GetSymbol().IsValid())
      add(places, target, context.GetSymbol().GetStartAddress());
  }
}

// Every row of the file from the line on: LLDB takes the next line that has code.
void add_lines(std::vector<Address>& places, lldb::SBTarget& target, const std::string& file,
               std::uint32_t line) {
  lldb::SBFileSpec spec(file.c_str(), false);
  lldb::SBSymbolContextList units = target.FindCompileUnits(spec);
  std::uint32_t nearest = UINT32_MAX;
  std::vector<std::pair<std::uint32_t, lldb::SBAddress>> rows;
  for (std::uint32_t i = 0; i < units.GetSize(); ++i) {
    lldb::SBCompileUnit unit = units.GetContextAtIndex(i).GetCompileUnit();
    for (std::uint32_t k = 0; k < unit.GetNumLineEntries() && rows.size() < max_places; ++k) {
      lldb::SBLineEntry entry = unit.GetLineEntryAtIndex(k);
      const char* name = entry.GetFileSpec().GetFilename();
      if (name == nullptr || file_name_of(file) != file_name_of(name) || entry.GetLine() < line) continue;
      nearest = std::min(nearest, entry.GetLine());
      rows.emplace_back(entry.GetLine(), entry.GetStartAddress());
    }
  }
  for (auto& [at, address] : rows)
    if (at == nearest) add(places, target, address);
}
} // namespace

BreakpointWish wish_of(lldb::SBBreakpoint& breakpoint) {
  lldb::SBStream text;
  lldb::SBStructuredData data = breakpoint.SerializeToStructuredData();
  if (!data.IsValid() || data.GetAsJSON(text).Fail() || text.GetData() == nullptr) return {};
  return wish_of_serialized({text.GetData(), text.GetSize()});
}

std::vector<Address> places_of(lldb::SBTarget& target, const BreakpointWish& wish) {
  std::vector<Address> places;
  switch (wish.kind) {
  case BreakpointWish::Kind::name:
    for (const std::string& name : wish.names) {
      add(places, target, target.FindFunctions(name.c_str(), lldb::eFunctionNameTypeAuto));
      add(places, target, target.FindSymbols(name.c_str(), lldb::eSymbolTypeCode));
    }
    break;
  case BreakpointWish::Kind::pattern:
    for (const std::string& name : wish.names)
      add(places, target, target.FindGlobalFunctions(name.c_str(), max_places, lldb::eMatchTypeRegex));
    break;
  case BreakpointWish::Kind::line: {
    std::string file = wish.file;
    if (file.empty()) {
      lldb::SBFrame frame = target.GetProcess().GetSelectedThread().GetSelectedFrame();
      const char* name = frame.GetLineEntry().GetFileSpec().GetFilename();
      if (name == nullptr) break;
      file = name;
    }
    add_lines(places, target, file, wish.line);
    break;
  }
  case BreakpointWish::Kind::address:
  case BreakpointWish::Kind::unknown:
    break;
  }
  return places;
}

} // namespace clr::lldb_plugin
