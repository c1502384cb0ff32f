#include "core/waits/await_lines.h"

#include <algorithm>
#include <utility>

namespace clr {
namespace {

constexpr std::uint16_t leave = 0xdd, leave_short = 0xde, switch_code = 0x45;

// Whether the text of `outer` holds that of `inner`, and more.
bool holds(const SequencePoint& outer, const SequencePoint& inner) {
  if (outer.hidden || inner.hidden || outer.document != inner.document) return false;
  const auto begin = [](const SequencePoint& p) { return std::pair(p.start_line, p.start_column); };
  const auto end = [](const SequencePoint& p) { return std::pair(p.end_line, p.end_column); };
  return begin(outer) <= begin(inner) && end(inner) <= end(outer) &&
         (begin(outer) != begin(inner) || end(inner) != end(outer));
}

// False, and nothing left, when that is not enough.
bool take(std::size_t& left, std::size_t count) {
  const bool enough = count <= left;
  left = enough ? left - count : 0;
  return enough;
}

} // namespace

AwaitArms::AwaitArms(std::vector<SequencePoint> points, std::span<const std::byte> il)
    : points_(std::move(points)), code_(il_instructions(il)) {
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (!points_[i].hidden) visible_.push_back(i);
}

// It is a part of an expression in front of it, and no whole of others: the point where an arm is chosen has
// the text of all arms.
bool AwaitArms::is_arm(std::size_t index, std::size_t& left) {
  if (const auto known = arms_.find(index); known != arms_.end()) return known->second;
  if (!take(left, points_.size())) return false;
  const SequencePoint& arm = points_[index];
  const std::span<const SequencePoint> before(points_.begin(), points_.begin() + std::ptrdiff_t(index));
  const bool is = std::ranges::any_of(before, [&](const SequencePoint& p) { return holds(p, arm); }) &&
                  std::ranges::none_of(points_, [&](const SequencePoint& p) { return holds(arm, p); });
  return arms_.emplace(index, is).first->second;
}

// A method that is suspended leaves by `leave`, wherever its await is.
bool AwaitArms::stays_before(std::uint32_t from, std::uint32_t to, std::size_t& left) const {
  const auto first = std::ranges::lower_bound(code_, from, {}, &IlInstruction::offset),
             last = std::ranges::lower_bound(code_, to, {}, &IlInstruction::offset);
  if (!take(left, static_cast<std::size_t>(last - first))) return false;
  return std::none_of(first, last, [&](const IlInstruction& instruction) {
    if (instruction.opcode == switch_code) return true;
    return il::is_jump(instruction.opcode) && instruction.opcode != leave &&
           instruction.opcode != leave_short &&
           std::int64_t{instruction.next} + instruction.operand > std::int64_t{to};
  });
}

std::optional<std::uint32_t> AwaitArms::of(std::uint32_t yield_offset, std::size_t& left) {
  const auto next = std::ranges::upper_bound(visible_, yield_offset, {},
                                             [&](std::size_t index) { return points_[index].il_offset; });
  if (next == visible_.end()) return std::nullopt;
  const std::uint32_t end = points_[*next].il_offset;
  if (!is_arm(*next, left) || !stays_before(yield_offset, end, left)) return std::nullopt;
  return end;
}

bool AwaitArms::is_hidden(std::uint32_t il_offset) const {
  const auto behind = std::ranges::upper_bound(points_, il_offset, {}, &SequencePoint::il_offset);
  return behind != points_.begin() && std::prev(behind)->hidden;
}

} // namespace clr
