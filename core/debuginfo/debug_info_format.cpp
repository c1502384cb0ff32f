#include "core/debuginfo/debug_info_format.h"

#include "core/execution/contract_support.h"

#include <fmt/format.h>

namespace clr {
namespace {

// [rt] src/coreclr/inc/readytorun.h
constexpr unsigned first_major_packed = 16, first_major_slim_or_fat = 17;
constexpr unsigned first_major_from_5 = 20, first_major_number_first = 22;

// PatchpointInfo: least size of the fields from LocalCount up to the list of locals.
constexpr std::uint64_t fields_from_count = 24;

constexpr DebugInfoFormat net9{};
constexpr DebugInfoFormat net10{.header = DebugInfoFormat::Header::marked,
                                .bounds = BoundsCoding::packed_2_bits,
                                .patchpoints = net10_patchpoints};
constexpr DebugInfoFormat net11{.header = DebugInfoFormat::Header::slim_or_fat,
                                .bounds = BoundsCoding::packed_3_bits,
                                .patchpoints = net10_patchpoints};

// Prefers the layout that the target publishes, if it publishes one.
DebugInfoFormat with_patchpoints_of(const Target& target, DebugInfoFormat format) {
  const auto count = target.find_offset("PatchpointInfo", "LocalCount");
  const auto size = target.find_size("PatchpointInfo");
  if (!count || !size) return format;
  if (*size > PatchpointLayout::max_fixed_bytes || *count < 0 ||
      static_cast<std::uint64_t>(*count) + fields_from_count > *size)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("a PatchpointInfo of {} bytes with LocalCount at {}", *size, *count));
  format.patchpoints = {.local_count = static_cast<std::uint32_t>(*count),
                        .locals = static_cast<std::uint32_t>(*size)};
  return format;
}

DebugInfoFormat with(DebugInfoFormat format, VariablesCoding variables) {
  format.variables = variables;
  return format;
}

DebugInfoFormat coding_of_jitted(const Target& target) {
  if (const auto form = target.find_contract_form("DebugInfo"))
    return *form == contract_form::net11 ? with(net11, VariablesCoding::number_first) : net10;
  return nibble_map_version(target) == NibbleMapVersion::linear ? net9 : net10;
}

} // namespace

DebugInfoFormat debug_info_format(unsigned r2r_major) {
  if (r2r_major < first_major_packed) return net9;
  if (r2r_major < first_major_slim_or_fat) return net10;
  return with(net11, r2r_major < first_major_from_5         ? VariablesCoding::from_4
                     : r2r_major < first_major_number_first ? VariablesCoding::from_5
                                                            : VariablesCoding::number_first);
}

DebugInfoFormat jitted_debug_info_format(const Target& target) {
  return with_patchpoints_of(target, coding_of_jitted(target));
}

} // namespace clr
