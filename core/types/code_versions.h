// Which version of a method a body is: NativeCodeVersionNode chains and optimisation tiers.
// Source: dotnet/runtime docs/design/datacontracts/CodeVersions.md; src/coreclr/vm/codeversion.h.
#pragma once

#include "core/target/record.h"
#include "core/target/target.h"
#include "core/types/method.h"

#include <functional>
#include <optional>

namespace clr {

// One explicit version of a method's native code.
struct NativeCodeVersion {
  Address node = 0;
  Address code = 0; // start; 0 while it is not compiled
  Address method_desc = 0;
  std::uint64_t il_version = 0; // 0: the method's own IL
  Tier tier = Tier::unknown;
  bool active = false;
};

class CodeVersions {
public:
  // Resolves the layouts; no reads. When the descriptor of a runtime has no code versions, no explicit
  // version is ever found.
  explicit CodeVersions(const Target& target);

  // The explicit version whose code starts at `start`; nothing when the body at `start` is the method's
  // default version. `code_data` is MethodDesc.CodeData. Throws Error{memory_missing}, Error{corrupt} for a
  // chain that does not end, and behind max_further_versions. Cost: 2 reads, and 1 per version passed.
  std::optional<NativeCodeVersion> find(Address code_data, Address start) const;

  // Whether this runtime's descriptor tells where versions are kept. No reads.
  bool known() const { return node_.has_value(); }

  // All explicit versions, newest first; false from `visit` stops. Errors and cost as above.
  void for_each(Address code_data, const std::function<bool(const NativeCodeVersion&)>& visit) const;

  // The tier that the runtime stores for the default version (.NET 11); nothing where it stores none.
  std::optional<Tier> stored_default_tier(Address code_data) const;

  // A method is recompiled a handful of times; ReJIT adds versions by hand.
  static constexpr std::size_t max_versions = 65'536;
  // All versions behind the first ones of their chains that are looked at, of all look-ups together: many
  // methods may share one long chain. Each look-up gives back usual_versions of them, so that chains of twice
  // as many can be looked at for ever.
  static constexpr std::size_t usual_versions = 64, max_further_versions = 4u << 20;

private:
  struct NodeLayout {
    RecordSpan span{"NativeCodeVersionNode"};
    std::int64_t code = 0, method_desc = 0, next = 0, flags = 0;
    std::optional<std::int64_t> il_version, tier;
  };

  const Target* target_;
  std::optional<NodeLayout> node_;
  std::optional<std::int64_t> versioning_state_, first_node_, default_tier_;
  mutable std::size_t further_ = 0;
};

// Translates the runtime's NativeCodeVersion::OptimizationTier; unknown for numbers that the runtime does not
// define.
Tier tier_from_runtime(std::uint32_t optimization_tier);

} // namespace clr
