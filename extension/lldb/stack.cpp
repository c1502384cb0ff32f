#include "extension/lldb/stack.h"

#include "extension/lldb/published_module.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {

std::string text_from(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

} // namespace

void name_native_frame(lldb::SBTarget& target, FrameRow& row, Address lookup) {
  lldb::SBAddress address = target.ResolveLoadAddress(lookup);
  lldb::SBSymbolContext context = target.ResolveSymbolContextForAddress(
      address, lldb::eSymbolContextModule | lldb::eSymbolContextFunction | lldb::eSymbolContextSymbol |
                   lldb::eSymbolContextLineEntry);
  lldb::SBModule module = context.GetModule();
  if (!module.IsValid() || is_published(module)) return;
  row.module = text_from(module.GetFileSpec().GetFilename());
  lldb::SBFunction function = context.GetFunction();
  lldb::SBSymbol symbol = context.GetSymbol();
  Address start = LLDB_INVALID_ADDRESS;
  if (function.IsValid()) {
    row.symbol = text_from(function.GetDisplayName());
    start = function.GetStartAddress().GetLoadAddress(target);
  } else if (symbol.IsValid()) {
    row.symbol = text_from(symbol.GetDisplayName());
    start = symbol.GetStartAddress().GetLoadAddress(target);
  }
  if (row.symbol.empty()) return;
  lldb::SBLineEntry line = context.GetLineEntry();
  if (function.IsValid() && line.IsValid())
    row.position = fmt::format(" at {}:{}", text_from(line.GetFileSpec().GetFilename()), line.GetLine());
  else if (start != LLDB_INVALID_ADDRESS && row.ip > start)
    row.position = fmt::format(" + {}", row.ip - start);
}

} // namespace clr::lldb_plugin
