// The runtime's call counting. Nothing else in the runtime tells a quick first body of a method (tier 0) from
// a first body that the JIT optimised at once although tiering was planned.
// Source: dotnet/runtime src/coreclr/vm/callcounting.h, tieredcompilation.cpp
// (TieredCompilationManager::GetInitialOptimizationTier).
#pragma once

#include "core/target/record.h"
#include "core/target/target.h"

#include <optional>

namespace clr {

class CallCounting {
public:
  // No reads. When neither the descriptor nor the supplements lead to the runtime's CallCountingManager,
  // enabled() always returns nothing.
  explicit CallCounting(const Target& target);

  // Whether the runtime may count the calls of the default code version of `method_desc`, which must be
  // eligible for tiering. true: its body is tier 0. false: the JIT switched to optimised code, for which
  // counting is disabled. Nothing when the table cannot be found or does not look as it should. Cost: 6 reads
  // for the first method, then about 2 each.
  std::optional<bool> enabled(Address method_desc);

  static constexpr std::uint32_t max_table = 1u << 26; // elements
  static constexpr unsigned max_probes = 4'096;

private:
  struct Table {
    Address elements = 0;
    std::uint32_t size = 0;
    // Of a CallCountingInfo.
    RecordSpan span{"CallCountingInfo"};
    std::int64_t storage_kind = 0, method_desc = 0, stage = 0;
  };
  std::optional<Table> find_table() const;
  std::optional<bool> look_up(const Table& table, Address method_desc) const;

  const Target* target_;
  bool searched_ = false;
  std::optional<Table> table_;
};

} // namespace clr
