#include "core/waits/await_lines.h"

#include "core/metadata/il_code.h"

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

// A method that is suspended leaves by `leave`, wherever its await is.
bool stays_before(std::span<const std::byte> il, std::uint32_t from, std::uint32_t to) {
  return std::ranges::none_of(il_instructions(il), [&](const IlInstruction& instruction) {
    if (instruction.offset < from || instruction.offset >= to) return false;
    if (instruction.opcode == switch_code) return true;
    return il::is_jump(instruction.opcode) && instruction.opcode != leave &&
           instruction.opcode != leave_short &&
           std::int64_t{instruction.next} + instruction.operand > std::int64_t{to};
  });
}

} // namespace

std::optional<std::uint32_t> arm_of_await(std::span<const SequencePoint> points,
                                          std::span<const std::byte> il, std::uint32_t yield_offset) {
  const auto next = std::ranges::find_if(
      points, [&](const SequencePoint& point) { return !point.hidden && point.il_offset > yield_offset; });
  if (next == points.end()) return std::nullopt;
  const std::span<const SequencePoint> before(points.begin(), next);
  const bool part = std::ranges::any_of(before, [&](const SequencePoint& p) { return holds(p, *next); });
  // The point where an arm is chosen has the text of all arms.
  const bool whole = std::ranges::any_of(points, [&](const SequencePoint& p) { return holds(*next, p); });
  if (!part || whole || !stays_before(il, yield_offset, next->il_offset)) return std::nullopt;
  return next->il_offset;
}

} // namespace clr
