#include "extension/breakpoints/target_breakpoints.h"

#include "core/describe/break_targets.h"
#include "core/describe/statement_places.h"
#include "core/memory/path_map.h"
#include "core/runtime/source_lines.h"
#include "extension/breakpoints/breakpoint_places.h"
#include "extension/lldb/hidden_breakpoints.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
std::vector<std::string> files_of(Session& session, const Method& method) {
  std::vector<std::string> files;
  SourceLines* lines = session.runtime().lines();
  const PortablePdb* pdb = lines != nullptr ? lines->pdb_of(method.runtime_module) : nullptr;
  if (pdb == nullptr || method.token == 0) return files;
  std::uint32_t last = 0;
  for (const SequencePoint& point : pdb->sequence_points(method.token)) {
    if (point.document == last || point.document == 0) continue;
    last = point.document;
    files.push_back(pdb->document_name(last));
  }
  return files;
}

std::size_t locations_of(lldb::SBBreakpoint& breakpoint) {
  return std::min(breakpoint.GetNumLocations(), TargetBreakpoints::max_locations);
}
} // namespace

bool is_native_source(std::string_view file) {
  constexpr std::array<std::string_view, 10> endings{".c",   ".cc", ".cpp", ".cxx", ".h",
                                                     ".hpp", ".rs", ".s",   ".S",   ".go"};
  return std::ranges::any_of(endings, [&](std::string_view ending) { return file.ends_with(ending); });
}

bool TargetBreakpoints::is_managed(lldb::SBBreakpoint& breakpoint, const BreakpointWish& wish,
                                   const ProcessPublishing& publishing) const {
  if (ours_.contains(breakpoint.GetID())) return true;
  if (wish.kind == BreakpointWish::Kind::address) return false;
  if (wish.kind == BreakpointWish::Kind::line && is_native_source(wish.file)) return false;
  const std::size_t locations = locations_of(breakpoint);
  if (locations == 0) return true; // may come to be one
  for (std::size_t i = 0; i < locations; ++i)
    if (publishing.holds(breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(i)).GetLoadAddress()))
      return true;
  return false;
}

namespace {
// What the enabled breakpoints of a target need.
struct Needs {
  std::vector<BreakpointWish> wishes; // of those on managed code
  bool waiting = false;               // one of these has no place yet
  std::set<lldb::break_id_t> one_shots;
};

Needs needs_of(lldb::SBTarget& target, const TargetBreakpoints& all, const ProcessPublishing& publishing) {
  Needs needs;
  for (std::uint32_t i = 0; i < target.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target.GetBreakpointAtIndex(i);
    if (is_hidden(breakpoint) || !breakpoint.IsEnabled()) continue;
    if (breakpoint.IsOneShot()) needs.one_shots.insert(breakpoint.GetID());
    BreakpointWish wish = wish_of(breakpoint);
    if (!all.is_managed(breakpoint, wish, publishing)) continue;
    needs.wishes.push_back(std::move(wish));
    needs.waiting = needs.waiting || breakpoint.GetNumLocations() == 0;
  }
  return needs;
}

std::optional<AskedCode> code_asked_by(std::span<const BreakpointWish> wishes) {
  AskedCode code;
  for (const BreakpointWish& wish : wishes) {
    if (wish.kind == BreakpointWish::Kind::name)
      code.names.insert(code.names.end(), wish.names.begin(), wish.names.end());
    else if (wish.kind == BreakpointWish::Kind::line && !wish.file.empty())
      code.files.push_back(wish.file);
    else
      return std::nullopt;
  }
  return code;
}
} // namespace

void TargetBreakpoints::collect(const ProcessPublishing& publishing) {
  Needs needs = needs_of(target_, *this, publishing);
  wishes_ = std::move(needs.wishes);
  waiting_ = needs.waiting;
  one_shots_.merge(needs.one_shots);
}

std::optional<AskedCode> TargetBreakpoints::asked(const ProcessPublishing& publishing) {
  return code_asked_by(needs_of(target_, *this, publishing).wishes);
}

std::optional<AskedCode> TargetBreakpoints::asked_last() const {
  return code_asked_by(wishes_);
}

void TargetBreakpoints::expect(const BreakpointWish& wish, bool waits) {
  wishes_.push_back(wish);
  waiting_ = waiting_ || waits;
}

bool TargetBreakpoints::concern(Session& session, const Method& method) const {
  if (wishes_.empty()) return false;
  std::vector<std::string> files;
  const bool by_line = std::ranges::any_of(
      wishes_, [](const BreakpointWish& wish) { return wish.kind == BreakpointWish::Kind::line; });
  if (by_line) files = files_of(session, method);
  return std::ranges::any_of(wishes_,
                             [&](const BreakpointWish& wish) { return may_concern(wish, method, files); });
}

// Before there was a runtime nobody knew in which modules such a method would be.
void TargetBreakpoints::drop_native(lldb::SBBreakpoint& breakpoint, const ProcessPublishing& publishing,
                                    std::size_t first, std::size_t end) {
  for (std::size_t k = first; k < end; ++k) {
    lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k));
    if (!publishing.holds(location.GetLoadAddress())) location.SetEnabled(false);
  }
}

void TargetBreakpoints::drop_wrong_lines(Session& session, const ProcessPublishing& publishing) {
  if (!publishing.begun() || session.runtime().absence() != nullptr) return;
  for (std::uint32_t i = 0; i < target_.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target_.GetBreakpointAtIndex(i);
    const std::size_t locations = locations_of(breakpoint);
    if (locations == 0 || is_hidden(breakpoint)) continue;
    LineCheck& check = lines_[breakpoint.GetID()];
    // A module that is made anew takes its location away and brings another one.
    lldb::SBBreakpointLocation newest =
        breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(locations - 1));
    const std::pair<int, Address> last{newest.GetID(), newest.GetLoadAddress()};
    if (check.locations == locations && check.last == last) continue;
    const BreakpointWish wish = wish_of(breakpoint);
    check.last = last;
    const std::size_t before = std::exchange(check.locations, locations);
    const std::size_t first = before < locations ? before : 0;
    if (wish.kind == BreakpointWish::Kind::name && ours_.contains(breakpoint.GetID()))
      drop_native(breakpoint, publishing, first, locations);
    if (wish.kind != BreakpointWish::Kind::line || is_native_source(wish.file)) continue;
    check.line = methods_at_line(session.runtime(), file_name_of(wish.file), wish.line, {}).line;
    if (check.line == 0) continue;
    for (std::size_t k = first; k < locations; ++k) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k));
      lldb::SBAddress address = location.GetAddress();
      if (!publishing.holds(location.GetLoadAddress())) continue;
      if (address.GetLineEntry().GetLine() != check.line) location.SetEnabled(false);
    }
    drop_later_statements(session, breakpoint, publishing, check.line, first);
  }
}

// The compiler gives what it adds behind a block (the end of a `using`, of a `foreach`) the line at which the
// block began, and what a loop does each time round that of its head. LLDB has a place for each lexical block
// and each function with code of the line, and the handlers of a method are functions of their own.
void TargetBreakpoints::drop_later_statements(Session& session, lldb::SBBreakpoint& breakpoint,
                                              const ProcessPublishing& publishing, std::uint32_t line,
                                              std::size_t first) {
  const std::size_t locations = locations_of(breakpoint);
  std::vector<StatementPlace> places(locations);
  std::set<Address> looked_at; // bodies that have a place which is new
  for (std::size_t k = 0; k < locations; ++k) {
    lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k));
    const Address at = location.GetLoadAddress();
    if (!location.IsEnabled() || !publishing.holds(at)) continue;
    places[k] = statement_place(session.runtime(), at, line);
    if (k >= first) looked_at.insert(places[k].body);
  }
  for (const std::size_t k : later_statements(places))
    if (looked_at.contains(places[k].body))
      breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k)).SetEnabled(false);
}

std::vector<lldb::SBBreakpointLocation> TargetBreakpoints::not_planted(const ProcessPublishing& publishing) {
  std::vector<lldb::SBBreakpointLocation> waiting;
  for (std::uint32_t i = 0; i < target_.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target_.GetBreakpointAtIndex(i);
    if (!breakpoint.IsEnabled()) continue;
    const std::size_t locations = locations_of(breakpoint);
    for (std::size_t k = 0; k < locations; ++k) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k));
      if (location.IsResolved() || !location.IsEnabled()) continue;
      if (publishing.holds(location.GetLoadAddress())) waiting.push_back(location);
    }
  }
  return waiting;
}

} // namespace clr::lldb_plugin
