// The source text of an await that is part of a larger expression.
#pragma once

#include "core/metadata/il_code.h"
#include "core/metadata/portable_pdb.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace clr {

// The points and the code of one method. A `switch` expression has a sequence point for all of it, and one
// for each of its arms, which stands behind the awaits of the arm: where its value is stored. So the last
// point in front of an await there is that of the whole expression, or of the arm before. Source: the code of
// Roslyn 5.
class AwaitArms {
public:
  // `points` are those of the method, by ascending IL offsets. Throws Error{corrupt} for damaged IL. No
  // reads.
  AwaitArms(std::vector<SequencePoint> points, std::span<const std::byte> il);

  // The IL offset of the point of the arm that an await is in; nothing for an await that is in no arm, and
  // where the code between the two may go elsewhere, as that of the value which the arms are chosen by.
  // `yield_offset` is that of AwaitSite. `left` is counted down by the points and instructions that are
  // compared; where it is not enough it becomes 0, and the answer is nothing. No reads.
  std::optional<std::uint32_t> of(std::uint32_t yield_offset, std::size_t& left);

  // Whether the instruction has no source text of its own, as those that the compiler adds.
  bool is_hidden(std::uint32_t il_offset) const;

private:
  bool is_arm(std::size_t index, std::size_t& left);
  bool stays_before(std::uint32_t from, std::uint32_t to, std::size_t& left) const;

  std::vector<SequencePoint> points_;
  std::vector<std::size_t> visible_; // of points_, those that are not hidden
  std::vector<IlInstruction> code_;
  std::unordered_map<std::size_t, bool> arms_; // whether a point is that of an arm
};

} // namespace clr
