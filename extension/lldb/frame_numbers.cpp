#include "extension/lldb/frame_numbers.h"

namespace clr::lldb_plugin {

namespace {
// A chain of symbols that is damaged ends.
constexpr unsigned max_inlined = 64;
} // namespace

unsigned FrameNumbers::next(const FrameRow& row) {
  const unsigned number = row.index + added_;
  if (row.kind == "native" && row.ip != 0) added_ += inlined_at(interrupted_ ? row.ip : row.ip - 1);
  interrupted_ = row.symbol == "__restore_rt"; // a signal came to the caller
  return number;
}

unsigned FrameNumbers::inlined_at(Address lookup) {
  const auto [known, is_new] = known_.try_emplace(lookup, 0);
  if (!is_new) return known->second;
  // As LLDB does when it makes its list of frames.
  lldb::SBAddress at = target_.ResolveLoadAddress(lookup);
  lldb::SBSymbolContext context = target_.ResolveSymbolContextForAddress(
      at, lldb::eSymbolContextModule | lldb::eSymbolContextCompUnit | lldb::eSymbolContextFunction |
              lldb::eSymbolContextBlock);
  while (known->second < max_inlined && context.GetBlock().IsValid()) {
    lldb::SBAddress parent_at;
    lldb::SBSymbolContext parent = context.GetParentOfInlinedScope(at, parent_at);
    if (!parent.IsValid() || !parent.GetFunction().IsValid()) break;
    ++known->second;
    context = parent;
    at = parent_at;
  }
  return known->second;
}

} // namespace clr::lldb_plugin
