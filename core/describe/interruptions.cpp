#include "core/describe/interruptions.h"

#include "core/describe/unwind_rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace clr {
namespace {

using Rows = DebugUnwindRows::List;
using Interruption = std::shared_ptr<const DebugInterruption>;

// Enters `interrupted` in `all`, and returns it, with what is there already of the same instruction. Null:
// there are too many.
Interruption add_to(std::vector<Interruption>& all, std::uint32_t offset,
                    const InterruptedCode& interrupted) {
  const auto same =
      std::ranges::find_if(all, [&](const Interruption& other) { return other->offset == offset; });
  Interruption next = same == all.end() ? nullptr : *same;
  std::size_t count = 1;
  for (const DebugInterruption* other = next.get(); other != nullptr; other = other->next.get()) ++count;
  if (count > max_interruptions) return nullptr;
  auto interruption = std::make_shared<const DebugInterruption>(
      DebugInterruption{.offset = offset,
                        .registers = interrupted.registers,
                        .other_stack = interrupted.on_same_stack() ? 0 : interrupted.frame,
                        .next = std::move(next)});
  if (same == all.end())
    all.push_back(interruption);
  else
    *same = interruption;
  return interruption;
}

// The last of `rows` at or before `offset`, null if none.
template<typename Row>
const Row* row_at(const std::vector<Row>& rows, std::uint32_t offset) {
  const auto next = std::ranges::upper_bound(rows, offset, {}, &Row::offset);
  return next == rows.begin() ? nullptr : &*std::prev(next);
}

// Rows of the instruction that failed from the byte before it on. One at the start of a function takes that
// byte from the function before.
void interrupt_rows(std::vector<DebugUnwindRange>& ranges, const DebugInterruption& interruption) {
  const std::uint32_t at = interruption.offset;
  const auto found = std::ranges::find_if(
      ranges, [&](const DebugUnwindRange& range) { return range.begin <= at && at < range.end; });
  if (found == ranges.end() || found->guessed) return;
  const DebugUnwindRow* const row = row_at(found->rows.list(), at);
  if (row == nullptr) return;
  const std::uint32_t first = at == 0 ? 0 : at - 1;
  if (found->begin > first) {
    found->begin = first;
    if (found != ranges.begin()) {
      DebugUnwindRange& before = *std::prev(found);
      if (before.end > first) UnwindRows::cut_end(before, first);
    }
  }
  Rows rows;
  for (const DebugUnwindRow& other : found->rows)
    if (other.offset < first) rows.push_back(other);
  rows.push_back({first, row->layout, &interruption});
  const DebugUnwindRow* const after = row_at(found->rows.list(), at + 1);
  if (at + 1 < found->end) rows.push_back({at + 1, after->layout, after->interruption});
  for (const DebugUnwindRow& other : found->rows)
    if (other.offset > at + 1) rows.push_back(other);
  found->rows = std::move(rows);
}

void interrupt_lines(std::vector<DebugLineRow>& lines, std::uint32_t at) {
  const auto begins = std::ranges::find(lines, at, &DebugLineRow::offset);
  if (at == 0 || begins == lines.end()) return;
  DebugLineRow row = *begins;
  row.offset = at - 1;
  row.prologue_end = row.statement = false; // no place for a breakpoint
  if (begins != lines.begin() && std::prev(begins)->offset == row.offset)
    *std::prev(begins) = row;
  else
    lines.insert(begins, row);
}

} // namespace

void add_interruption(DebugBody& code, const InterruptedCode& interrupted) {
  const std::optional<Address> pc = interrupted.registers.pc();
  if (!pc || *pc - code.start >= code.size) return;
  const Interruption interruption =
      add_to(code.interruptions, static_cast<std::uint32_t>(*pc - code.start), interrupted);
  if (interruption == nullptr) return;
  interrupt_rows(code.unwind, *interruption);
  interrupt_lines(code.lines, interruption->offset);
}

std::optional<DebugBody> code_before_entry(const DebugBody& code) {
  const auto at_entry = std::ranges::find_if(
      code.interruptions, [](const Interruption& interruption) { return interruption->offset == 0; });
  if (at_entry == code.interruptions.end() || code.start == 0) return std::nullopt;
  DebugInterruption moved = **at_entry;
  moved.offset = 1;
  const auto interruption = std::make_shared<const DebugInterruption>(std::move(moved));
  DebugBody before{.start = code.start - 1,
                   .size = 1,
                   .function = false,
                   .before_entry = true,
                   .interruptions = {interruption},
                   .return_type = code.return_type};
  if (!code.unwind.empty() && code.unwind.front().begin == 0 && !code.unwind.front().rows.empty())
    before.unwind.push_back(
        {.begin = 0, .end = 1, .rows = {{0, code.unwind.front().rows.front().layout, interruption.get()}}});
  if (!code.lines.empty() && code.lines.front().offset == 0) {
    DebugLineRow row = code.lines.front();
    row.prologue_end = row.statement = false;
    before.lines.push_back(row);
  }
  return before;
}

void copy_entry_variables(const DebugBody& code, DebugBody& before) {
  for (const DebugVariable& variable : code.variables) {
    if (variable.scope_begin != 0) continue;
    DebugVariable copy = variable;
    copy.scope_end = 0;
    copy.ranges.clear();
    for (const DebugVariableRange& range : variable.ranges)
      if (range.begin == 0 && range.end != 0) {
        copy.ranges.push_back(range);
        copy.ranges.back().end = 1;
      }
    before.variables.push_back(std::move(copy));
  }
}

} // namespace clr
