// Ranges that contain only stubs of one kind, mostly precodes.
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

  // The stub at `pc` in `section`, a range list. For a precode it names the method if that can be read;
  // otherwise the text says what could not be read. Cost: 1 read for the kind, and those of
  // Precodes::containing.
  execution::Miss at(const RangeSection& section, Address pc) const;

private:
  const Target* target_;
  const Precodes* precodes_;
};

} // namespace clr
