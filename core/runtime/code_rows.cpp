#include "core/runtime/code_rows.h"

#include <fmt/format.h>

namespace clr {

std::string_view perf_map_tier(Tier tier) {
  switch (tier) {
  case Tier::tier0:
    return "QuickJitted";
  case Tier::tier1:
    return "OptimizedTier1";
  case Tier::osr:
    return "OptimizedTier1OSR";
  case Tier::optimized:
    return "Optimized";
  case Tier::minopts:
    return "MinOptJitted";
  case Tier::instrumented:
    return "InstrumentedTier";
  case Tier::instrumented_optimized:
    return "InstrumentedTierOptimized";
  case Tier::r2r:
    return "PreJIT";
  case Tier::unknown:
    break;
  }
  return "Unknown";
}

std::vector<EnumerationHole> for_each_code_row(Runtime& runtime,
                                               const std::function<bool(const symbols::MapRow&)>& visit) {
  std::vector<EnumerationHole> unsized;
  std::size_t others = 0; // that are not told one by one
  auto holes = runtime.for_each_method({}, [&](const MethodRow& row) {
    if (row.code.regions.empty()) {
      if (unsized.size() < max_unsized)
        unsized.push_back({row.code.start, fmt::format("{}: {}", row.method.full_name, row.code.fault)});
      else
        ++others;
      return true;
    }
    const std::string name = row.method.perf_map_name();
    for (const CodeRegion& region : row.code.regions) {
      const bool cold_r2r = region.part == CodePart::cold && row.code.kind == CodeKind::ready_to_run;
      const std::string_view tier = cold_r2r ? "PreJit-cold" : perf_map_tier(row.code.tier);
      if (!visit({region.start, region.size, fmt::format("{}[{}]", name, tier)})) return false;
    }
    return true;
  });
  if (others != 0) unsized.push_back({0, fmt::format("{} more bodies of unknown size", others)});
  holes.insert(holes.end(), unsized.begin(), unsized.end());
  return holes;
}

} // namespace clr
