#include "core/describe/statement_places.h"

#include "core/describe/called_methods.h"
#include "core/memory/error.h"
#include "core/runtime/source_lines.h"
#include "core/types/last_name.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <variant>

namespace clr {

namespace {
// The statements of a method, to be asked for one line.
class Statements {
public:
  Statements(std::span<const SequencePoint> points, std::uint32_t line) : line_(line) {
    for (const SequencePoint& point : points)
      if (!point.hidden) visible_.push_back(&point);
    first_ = std::ranges::find(visible_, line, &SequencePoint::start_line);
  }
  Statements(const Statements&) = delete; // first_ is of its own visible_
  Statements& operator=(const Statements&) = delete;

  std::optional<StatementOfLine> at(std::uint32_t il) const {
    if (visible_.empty()) return std::nullopt;
    auto found = std::ranges::upper_bound(visible_, il, {}, &SequencePoint::il_offset);
    // Code in front of the first statement, the prologue, is of that.
    if (found != visible_.begin()) --found;
    if ((*found)->start_line != line_) return std::nullopt;
    return StatementOfLine{(*found)->il_offset, found == first_};
  }

private:
  std::uint32_t line_;
  std::vector<const SequencePoint*> visible_;
  std::vector<const SequencePoint*>::const_iterator first_; // of the line
};
} // namespace

std::optional<StatementOfLine> statement_of_line(std::span<const SequencePoint> points, std::uint32_t il,
                                                 std::uint32_t line) {
  return Statements(points, line).at(il);
}

namespace {
// Sets `il` and `prologue`, and returns the statement. Handlers have prologues, too, and code without source
// behind it, which are shown as of the line that follows.
std::optional<StatementOfLine> find_statement(StatementPlace& place, Runtime& runtime, const CodeBlock& block,
                                              std::span<const SequencePoint> points, std::uint32_t line) {
  DebugInfoReader& reader = runtime.lines()->debug_info();
  const IlPosition position = reader.il_position(block, NativeOffsetKind::exact);
  place.il = position.il;
  place.prologue = position.mark != IlMark::mapped;
  const Statements statements(points, line);
  if (!place.prologue) return statements.at(place.il);
  const std::uint64_t native = runtime.code()->relative_offset(block);
  for (const IlStretch& stretch : reader.il_map(block)->stretches()) {
    if (stretch.begin < native || stretch.position.mark != IlMark::mapped) continue;
    place.il = stretch.position.il;
    if (const auto found = statements.at(place.il)) return found;
  }
  return std::nullopt;
}
} // namespace

StatementPlace statement_place(Runtime& runtime, Address at, std::uint32_t line) {
  StatementPlace place{.at = at, .machine = {}, .part_of = {}};
  try {
    const CodeLookup found = runtime.code()->find(at);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr || runtime.lines() == nullptr) return place;
    const MethodAnswer described = runtime.describe(*block);
    const Method& method = described.method;
    const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
    if (pdb == nullptr || method.token == 0) return place;
    const auto statement = find_statement(place, runtime, *block, pdb->sequence_points(method.token), line);
    if (!statement) return place;
    place.body = block->start;
    place.part = described.code.funclet.value_or(block->start);
    place.statement = statement->il;
    place.first_of_line = statement->first;
    place.entered_in_loop = described.code.tier == Tier::osr;
    if (is_part_of_iterator(method.name))
      place.part_of = qualifier_of(method.name);
    else if (pdb->kickoff_method(method.token))
      place.machine = qualifier_of(method.name);
  } catch (const Error&) {
    return {};
  }
  return place;
}

std::vector<std::size_t> later_statements(std::span<const StatementPlace> places) {
  using Begin = std::tuple<std::uint32_t, bool, Address>;
  const auto begin_of = [](const StatementPlace& place) { return Begin{place.il, place.prologue, place.at}; };
  std::map<Address, std::uint32_t> first; // of each body
  std::map<Address, Begin> begins;        // of each of its functions
  std::set<std::string_view> machines;
  for (const StatementPlace& place : places) {
    if (!place.statement) continue;
    const auto statement = first.try_emplace(place.body, *place.statement).first;
    statement->second = std::min(statement->second, *place.statement);
    const auto begin = begins.try_emplace(place.part, begin_of(place)).first;
    begin->second = std::min(begin->second, begin_of(place));
    if (!place.machine.empty()) machines.insert(place.machine);
  }
  std::vector<std::size_t> later;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const StatementPlace& place = places[i];
    if (!place.statement) continue;
    if (*place.statement != first[place.body] || begin_of(place) != begins[place.part] ||
        (place.entered_in_loop && !place.first_of_line) ||
        (!place.part_of.empty() && machines.contains(place.part_of)))
      later.push_back(i);
  }
  return later;
}

} // namespace clr
