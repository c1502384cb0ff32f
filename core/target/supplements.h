// Layouts that the runtime has but its descriptor does not publish: one table, each row with its source. A
// row is used only when the descriptor itself does not state the layout.
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

// The offset of a field and the size of a type, for the CPU and the generation of `target`; nothing when the
// table has none. No reads.
std::optional<std::int64_t> supplement_offset(const Target& target, std::string_view type,
                                              std::string_view field);
std::optional<std::uint64_t> supplement_size(const Target& target, std::string_view type);

// The rows that apply to `target` and that its descriptor lacks, for `clr info`.
std::vector<Supplement> supplements_in_use(const Target& target);

} // namespace clr
