// The code in which a place of a variable holds no reference any more: the garbage collector does not look at
// it there, and so a collection leaves an old address in it. The JIT's debug information may still name it.
#pragma once

#include "core/describe/variable_places.h"
#include "core/execution/execution_manager.h"
#include "core/execution/gc_decoder.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace clr {

class DeadPlaces {
public:
  // Nothing is dead.
  DeadPlaces() = default;
  // By the GC info of a method. Nothing is dead when it has too much to say: see max_dead_steps. Throws
  // Error. Cost: that of GcDecoder, and steps().
  DeadPlaces(const Target& target, const GcInfoLocation& gc_info);

  // Takes the code in which `home` is dead out of the ranges of a variable that is a reference or is reached
  // through one. A place that the collector never looks at, or always does, stays. A debugger looks a caller
  // up by the last byte of its call, or by the return address; both are taken out. No reads.
  void cut(std::vector<DebugVariableRange>& ranges) const;

  std::size_t steps() const { return steps_; }

  // Each place is looked at in each range and at each safe point of the method, and may be dead there. A
  // generated method with 5,000 calls and 400 places takes 2 million.
  static constexpr std::size_t max_dead_steps = 20'000'000;

private:
  // The register; or the base and the offset of the stack word.
  using Key = std::tuple<std::optional<unsigned>, GcBase, std::int64_t>;
  static Key key_of(const GcSlot& slot);
  // A place, and where it is dead; ascending and disjoint.
  struct Place {
    Key key;
    std::vector<NativeRange> dead;
  };
  const Place* find(const VariableLocation& home) const;

  Cpu cpu_ = Cpu::unknown;
  std::optional<unsigned> frame_register_;
  std::size_t steps_ = 0;
  std::vector<Place> places_; // ascending by key
};

} // namespace clr
