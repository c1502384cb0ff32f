#include "core/describe/constructor_lines.h"

#include <algorithm>

namespace clr {

bool is_constructor(std::string_view method) {
  return method == ".ctor" || method == ".cctor";
}

std::uint32_t declaration_line(std::span<const SequencePoint> constructor,
                               std::span<const SequencePoint> others) {
  std::uint32_t document = 0;
  for (const SequencePoint& point : constructor)
    if (!point.hidden) document = point.document;
  const auto is_here = [&](const SequencePoint& point) {
    return !point.hidden && point.document == document;
  };
  std::uint32_t first = UINT32_MAX, last = 0;
  for (const SequencePoint& point : constructor) {
    if (!is_here(point)) continue;
    first = std::min(first, point.start_line);
    last = std::max(last, point.start_line);
  }
  std::uint32_t between = 0; // the last line of the others
  for (const SequencePoint& point : others)
    if (is_here(point) && point.start_line > first && point.start_line < last)
      between = std::max(between, point.start_line);
  if (between == 0) return 0;
  std::uint32_t line = last;
  for (const SequencePoint& point : constructor)
    if (is_here(point) && point.start_line > between) line = std::min(line, point.start_line);
  return line;
}

} // namespace clr
