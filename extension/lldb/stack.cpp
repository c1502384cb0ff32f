#include "extension/lldb/stack.h"

#include "extension/publish/published_module.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {

std::string text_from(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

FrameRow describe_frame(Session& session, lldb::SBFrame& frame, bool leaf) {
  FrameRow row;
  row.index = frame.GetFrameID();
  row.ip = frame.GetPC();
  row.sp = frame.GetSP();
  row.found_by = "lldb";
  // A return address may lie behind the last byte of its method.
  const std::uint64_t distance = leaf || row.ip == 0 ? 0 : 1;
  Answer answer = session.runtime().resolve(row.ip - distance);
  session.runtime().add_source(answer);
  if (auto* method = std::get_if<MethodAnswer>(&answer.result)) {
    row.kind = "managed";
    // The call was looked up, the return address is shown.
    if (method->code.offset) *method->code.offset += distance;
    row.answer = std::make_shared<const MethodAnswer>(std::move(*method));
    return row;
  }
  name_native_frame(session.target(), row, row.ip - distance);
  if (const auto* fault = std::get_if<FaultAnswer>(&answer.result))
    row.fault = fault->text;
  else if (row.symbol.empty() && row.module.empty())
    row.symbol = std::get<MissAnswer>(answer.result).text;
  return row;
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

std::string walk_with_lldb(Session& session, lldb::SBThread& thread, std::size_t limit,
                           const std::function<bool(const FrameRow&)>& visit) {
  for (std::size_t i = 0; i < limit; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(static_cast<std::uint32_t>(i));
    if (!frame.IsValid()) return i == 0 ? "LLDB has no frame of this thread" : "bottom";
    if (!visit(describe_frame(session, frame, i == 0))) return "interrupted";
  }
  return "limit";
}

} // namespace clr::lldb_plugin
