#include "core/execution/contract_support.h"

#include "core/isa/architecture.h"

#include <fmt/format.h>

namespace clr {

NibbleMapVersion nibble_map_version(const Target& target) {
  const auto version = target.contract_version("ExecutionManager");
  // .NET 9 and earlier publish no version. The linear walk reads both encodings.
  if (!version) return NibbleMapVersion::linear;
  switch (*version) {
  case 1:
    return NibbleMapVersion::linear;
  case 2:
    return NibbleMapVersion::constant_time;
  default:
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("contract ExecutionManager version {} is not supported", *version));
  }
}

void check_platform_metadata(const Target& target) {
  const auto version = target.contract_version("PlatformMetadata");
  if (version && *version != 1)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("contract PlatformMetadata version {} is not supported", *version));
}

// Newer descriptors, which describe EEJitManager, have a global for this feature. .NET 10 has the feature on
// the CPUs below. [rt] src/coreclr/clrfeatures.cmake
bool has_on_stack_replacement(const Target& target) {
  if (const auto feature = target.find_global("FeatureOnStackReplacement")) return *feature != 0;
  if (target.find_offset("EEJitManager", "StoreRichDebugInfo")) return false;
  return architecture_of(target.platform().cpu).on_stack_replacement;
}

} // namespace clr
