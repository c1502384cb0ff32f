// The runtime's call counting: the only place that tells a method's quick first body from one that the JIT
// optimised at once against the plan. Source: dotnet/runtime src/coreclr/vm/callcounting.h,
// tieredcompilation.cpp (TieredCompilationManager::GetInitialOptimizationTier).
#pragma once

#include "core/target/target.h"

#include <optional>

namespace clr {

class CallCounting {
public:
  // No reads. Where descriptor and supplements do not lead to the runtime's CallCountingManager, nothing is
  // known.
  explicit CallCounting(const Target& target);

  // Whether the calls of the default code version of `method_desc` (which must be eligible for tiering) may
  // be counted: true means its body is tier 0; false that the JIT switched to optimised code, for which
  // counting is disabled. Nothing when the table cannot be found or is not what it should be. Cost: 4 reads
  // for the first method, then about 3 each.
  std::optional<bool> enabled(Address method_desc);

  static constexpr std::uint32_t max_table = 1u << 26; // elements
  static constexpr unsigned max_probes = 4'096;

private:
  struct Table {
    Address elements = 0;
    std::uint32_t size = 0;
  };
  std::optional<Table> find_table() const;
  std::optional<bool> look_up(const Table& table, Address method_desc) const;

  const Target* target_;
  bool searched_ = false;
  std::optional<Table> table_;
};

} // namespace clr
