// The source text of an await that is part of a larger expression.
#pragma once

#include "core/metadata/portable_pdb.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace clr {

// A `switch` expression has a sequence point for all of it, and one for each of its arms, which stands behind
// the awaits of the arm: where its value is stored. So the last point in front of an await there is that of
// the whole expression, or of the arm before. Returns the IL offset of the arm's point; nothing for an await
// that is in no arm, and where the code between the two may go elsewhere, as that of the value which the arms
// are chosen by. `points` are those of the method, by ascending IL offsets; `yield_offset` is that of
// AwaitSite. Throws Error{corrupt} for damaged IL. No reads. Source: the code of Roslyn 5.
std::optional<std::uint32_t> arm_of_await(std::span<const SequencePoint> points,
                                          std::span<const std::byte> il, std::uint32_t yield_offset);

} // namespace clr
