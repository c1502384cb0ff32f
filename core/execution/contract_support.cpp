#include "core/execution/contract_support.h"

#include "core/isa/architecture.h"

namespace clr {

NibbleMapVersion nibble_map_version(const Target& target) {
  // .NET 9 and earlier publish no version. The linear walk reads both encodings.
  const unsigned form =
      target.find_contract_form("ExecutionManager").value_or(contract_form::linear_nibble_map);
  return form == contract_form::linear_nibble_map ? NibbleMapVersion::linear
                                                  : NibbleMapVersion::constant_time;
}

// Newer descriptors have a global for this feature, if it is on. .NET 10 has the feature on
// the CPUs below. [rt] src/coreclr/clrfeatures.cmake
bool has_on_stack_replacement(const Target& target) {
  if (const auto feature = target.find_global("FeatureOnStackReplacement")) return *feature != 0;
  if (target.descriptor().version != descriptor_format_integers ||
      target.find_offset("EEJitManager", "StoreRichDebugInfo"))
    return false;
  return architecture_of(target.platform().cpu).on_stack_replacement;
}

} // namespace clr
