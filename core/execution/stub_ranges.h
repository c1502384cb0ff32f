// Ranges that hold nothing but stubs of one kind, precodes above all.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md; src/coreclr/vm/codeman.h
// (CodeRangeMapRangeList).
#pragma once

#include "core/execution/code_block.h"
#include "core/execution/precode.h"

namespace clr {

class StubRanges {
public:
  // Both must outlive this. No reads.
  StubRanges(const Target& target, const Precodes& precodes) : target_(&target), precodes_(&precodes) {}

  // What is at `pc` in `section`, a range list. A precode with its method where that can be read; what cannot
  // be read is said in the text. Cost: 1 read for the kind, and those of Precodes::containing.
  Miss at(const RangeSection& section, Address pc) const;

private:
  const Target* target_;
  const Precodes* precodes_;
};

} // namespace clr
