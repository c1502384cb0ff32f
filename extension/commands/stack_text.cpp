#include "extension/commands/stack_text.h"

#include "core/memory/count_text.h"
#include "core/report/merged_stacks.h"
#include "core/stack/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t registers_per_line = 4;

void print_frame(Output& out, const FrameRow& row, bool selected) {
  std::string line =
      fmt::format("  {} frame #{}: {} [{}]", selected ? "*" : " ", row.index, text_of(row), row.found_by);
  if (!row.fault.empty()) line += fmt::format(" (fault: {})", row.fault);
  out.line("{}", line);
  const std::vector<std::string> registers = registers_of(row);
  for (std::size_t i = 0; i < registers.size(); i += registers_per_line)
    out.line("        {}", fmt::join(registers.begin() + static_cast<std::ptrdiff_t>(i),
                                     registers.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                             i + registers_per_line, registers.size())),
                                     "  "));
}
} // namespace

std::size_t print_frames(Output& out, const std::vector<FrameRow>& rows, std::optional<unsigned> selected,
                         bool fold) {
  if (!fold) {
    for (const FrameRow& row : rows) print_frame(out, row, selected == row.index);
    return 0;
  }
  std::vector<const FrameRow*> shown;
  std::vector<std::uint64_t> keys;
  shown.reserve(rows.size());
  keys.reserve(rows.size());
  for (const FrameRow& row : rows) {
    if (selected != row.index && !folded_as(row).empty()) continue;
    shown.push_back(&row);
    keys.push_back(frame_key(row));
  }
  for (const RepeatRun& run : find_repeats(keys)) {
    for (std::size_t i = run.first; i < run.first + run.period; ++i)
      print_frame(out, *shown[i], selected == shown[i]->index);
    if (run.count < 2) continue;
    const FrameRow& last = *shown[run.first + run.period * run.count - 1];
    out.line("    ... {} {} more, up to frame #{}",
             run.period == 1 ? "this frame" : fmt::format("these {} frames", run.period),
             run.count == 2 ? "once" : fmt::format("{} times", run.count - 1), last.index);
  }
  return rows.size() - shown.size();
}

void print_left_out(Output& out, std::size_t count) {
  if (count != 0)
    out.line("({} that the runtime puts around async methods {} left out: clrbt --no-fold shows {})",
             count_text(count, "frame"), count == 1 ? "is" : "are", count == 1 ? "it" : "them");
}

void print_end(Output& out, const StackReporter::End& end, std::size_t limit) {
  if (end.end == "limit")
    out.line("    ... (stopped at {} frames)", limit);
  else if (end.end != "bottom")
    out.line("    (the walk ends here: {})", end.end);
  for (const std::string& note : end.notes) out.line("    (note: {})", note);
}

} // namespace clr::lldb_plugin
