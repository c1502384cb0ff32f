// The code in which a place of a variable holds no reference any more: the garbage collector does not look at
// it there, and so a collection leaves an old address in it. The JIT's debug information may still name it.
#pragma once

#include "core/describe/variable_places.h"
#include "core/execution/execution_manager.h"
#include "core/execution/gc_decoder.h"

#include <vector>

namespace clr {

class DeadPlaces {
public:
  // Nothing is dead.
  DeadPlaces() = default;
  // By the GC info of a method. Throws Error. Cost: that of GcDecoder.
  DeadPlaces(const Target& target, const GcInfoLocation& gc_info);

  // Takes the code in which `home` is dead out of the ranges of a variable that is a reference or is reached
  // through one. A place that the collector never looks at, or always does, stays. A debugger looks a caller
  // up by the last byte of its call, or by the return address; both are taken out. No reads.
  void cut(std::vector<DebugVariableRange>& ranges) const;

private:
  // A place, and where it is dead; ascending and disjoint.
  struct Place {
    GcSlot slot;
    std::vector<NativeRange> dead;
  };
  const Place* find(const VariableLocation& home) const;

  Cpu cpu_ = Cpu::unknown;
  std::optional<unsigned> frame_register_;
  std::vector<Place> places_;
};

} // namespace clr
