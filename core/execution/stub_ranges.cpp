#include "core/execution/stub_ranges.h"

#include "core/execution/stub_kind.h"

#include <fmt/format.h>

namespace clr {

execution::Miss StubRanges::at(const RangeSection& section, Address pc) const {
  const Target& target = *target_;
  StubKind kind = StubKind::unknown;
  std::string unread;
  try {
    target.offset("RangeSection", "RangeList"); // throws where it is not published
    if (section.range_list != 0)
      kind = stub_kind_of(target, target.read_u32(target.field_address(
                                      section.range_list, "CodeRangeMapRangeList", "RangeListType")));
  } catch (const Error& error) {
    unread = error.what();
  }
  execution::Miss result{.reason = MissReason::stub};
  if (kind == StubKind::stub_precode || kind == StubKind::fixup_precode || kind == StubKind::unknown) {
    try {
      const Precodes::Precode precode = precodes_->containing(pc);
      if (precode.kind != PrecodeKind::invalid) {
        if (kind == StubKind::unknown)
          kind = precode.kind == PrecodeKind::fixup ? StubKind::fixup_precode : StubKind::stub_precode;
        result.block_start = precode.entry;
      }
      if (precode.method_desc) {
        result.reason = MissReason::precode;
        result.text = to_string(precode.kind);
        result.method_desc = precode.method_desc;
      }
    } catch (const Error& error) {
      // It is certainly a precode; only its kind stays unknown.
      if (unread.empty()) unread = error.what();
    }
  }
  if (kind == StubKind::fixup_precode && result.text.empty() && unread.empty() &&
      target.find_contract_form("PrecodeStubs") == contract_form::precodes_by_bytes) {
    try {
      target.offset("PrecodeMachineDescriptor", "FixupStubPrecodeSize"); // throws where it is not published
    } catch (const Error& error) {
      unread = error.what();
    }
  }
  result.stub = kind;
  if (result.text.empty()) {
    result.text = to_string(kind);
    if (!unread.empty()) result.text += fmt::format(" ({})", unread);
  }
  return result;
}

} // namespace clr
