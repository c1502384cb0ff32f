#include "core/types/code_versions.h"

#include "core/isa/architecture.h"

#include <algorithm>

namespace clr {

Tier tier_from_runtime(std::uint32_t optimization_tier) {
  // [rt] vm/codeversion.h, NativeCodeVersion::OptimizationTier
  constexpr Tier tiers[] = {Tier::tier0,     Tier::tier1,        Tier::osr,
                            Tier::optimized, Tier::instrumented, Tier::instrumented_optimized};
  return optimization_tier < std::size(tiers) ? tiers[optimization_tier] : Tier::unknown;
}

CodeVersions::CodeVersions(const Target& target) : target_(&target) {
  versioning_state_ = target.find_offset("MethodDescCodeData", "VersioningState");
  default_tier_ = target.find_offset("MethodDescCodeData", "OptimizationTier");
  first_node_ = target.find_offset("MethodDescVersioningState", "NativeCodeVersionNode");
  if (!versioning_state_ || !first_node_ || !target.find_offset("NativeCodeVersionNode", "Next")) return;
  NodeLayout layout;
  const std::size_t pointer = target.pointer_size();
  layout.code = layout.span.require(target, "NativeCode", pointer);
  layout.method_desc = layout.span.require(target, "MethodDesc", pointer);
  layout.next = layout.span.require(target, "Next", pointer);
  layout.flags = layout.span.require(target, "Flags", 4);
  layout.il_version = layout.span.optional(target, "ILVersionId", pointer);
  layout.tier = layout.span.optional(target, "OptimizationTier", 4);
  node_ = layout;
}

void CodeVersions::for_each(Address code_data,
                            const std::function<bool(const NativeCodeVersion&)>& visit) const {
  if (!node_ || code_data == 0) return;
  const Address state = target_->read_pointer(code_data + static_cast<Address>(*versioning_state_));
  if (state == 0) return;
  further_ -= std::min(further_, usual_versions);
  Address at = target_->read_pointer(state + static_cast<Address>(*first_node_));
  Address met = 0;          // one node that was passed: a chain that comes back to it has no end
  std::size_t next_met = 1; // the next one is that of this number
  for (std::size_t count = 0; at != 0; ++count) {
    if (count == max_versions || at == met) throw_corrupt(at, "chain of code versions does not end");
    if (count == next_met) {
      met = at;
      next_met *= 2;
    }
    if (count >= usual_versions && ++further_ > max_further_versions)
      throw_corrupt(at, "chains of too many code versions");
    const target::Record raw(*target_, at, node_->span);
    const NativeCodeVersion version{.node = at,
                                    .code = raw.pointer(node_->code),
                                    .method_desc = raw.pointer(node_->method_desc),
                                    .il_version = node_->il_version ? raw.pointer(*node_->il_version) : 0,
                                    .tier = node_->tier ? tier_from_runtime(raw.u32(*node_->tier))
                                                        : Tier::unknown,
                                    .active = (raw.u32(node_->flags) & 1) != 0};
    if (!visit(version)) return;
    at = raw.pointer(node_->next);
  }
}

std::optional<NativeCodeVersion> CodeVersions::find(Address code_data, Address start) const {
  // 32-bit ARM marks Thumb code in bit 0 of every code pointer; starts come without the mark.
  struct Search {
    Address mask, start;
    std::optional<NativeCodeVersion> found;
  } search{~architecture_of(target_->platform().cpu).code_pointer_mark, start, {}};
  // With one reference, the function allocates nothing.
  for_each(code_data, [&search](const NativeCodeVersion& version) {
    if ((version.code & search.mask) == search.start) search.found = version;
    return !search.found;
  });
  return search.found;
}

std::optional<Tier> CodeVersions::stored_default_tier(Address code_data) const {
  if (!default_tier_ || code_data == 0) return std::nullopt;
  return tier_from_runtime(target_->read_u32(code_data + static_cast<Address>(*default_tier_)));
}

} // namespace clr
