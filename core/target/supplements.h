// Layouts that a descriptor is silent about although the runtime has them: one table, each row with its
// source. A row is used only where the descriptor has no word of its own.
#pragma once

#include "core/target/target.h"

#include <optional>
#include <string_view>
#include <vector>

namespace clr {

struct Supplement {
  std::string_view type;
  std::string_view field; // "!" = size of the type
  std::int64_t value = 0; // bytes, on a 64-bit target
  std::string_view source;
};

// Offset of a field, size of a type, for the CPU and the generation of `target`; nothing when the table has
// none. No reads.
std::optional<std::int64_t> supplement_offset(const Target& target, std::string_view type,
                                              std::string_view field);
std::optional<std::uint64_t> supplement_size(const Target& target, std::string_view type);

// The rows that apply to `target` and that its descriptor lacks, for `clr info`.
std::vector<Supplement> supplements_in_use(const Target& target);

} // namespace clr
