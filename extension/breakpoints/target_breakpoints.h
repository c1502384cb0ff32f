// The breakpoints of a target, of which some are on managed code.
#pragma once

#include "extension/breakpoints/breakpoint_wish.h"
#include "extension/publish/process_publishing.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

// They are known by LLDB's numbers, which outlive the target's processes.
class TargetBreakpoints {
public:
  explicit TargetBreakpoints(lldb::SBTarget target) : target_(std::move(target)) {}

  // `breakpoint` is on managed code, whatever LLDB can tell of it.
  void add_managed(lldb::SBBreakpoint& breakpoint) { ours_.insert(breakpoint.GetID()); }
  bool is_managed(lldb::SBBreakpoint& breakpoint, const BreakpointWish& wish,
                  const ProcessPublishing& publishing) const;

  // Looks at all of them: wishes() and waiting() afterwards.
  void collect(const ProcessPublishing& publishing);
  // One more that is to be set; it `waits` when nothing that it means is there yet.
  void expect(const BreakpointWish& wish, bool waits);
  // The enabled ones on managed code; one of them has no place yet.
  std::span<const BreakpointWish> wishes() const { return wishes_; }
  bool waiting() const { return waiting_; }
  // Numbers of those that the next hit deletes, and that were ever there.
  const std::set<lldb::break_id_t>& one_shots() const { return one_shots_; }
  // The code that those may mean which are enabled: their names and files. Nothing when one of them may mean
  // any code (a regular expression, a kind that LLDB does not tell). Looks at all of them.
  std::optional<AskedCode> asked(const ProcessPublishing& publishing);
  // The same by wishes().
  std::optional<AskedCode> asked_last() const;
  // Can one of them mean `method`?
  bool concern(Session& session, const Method& method) const;

  // LLDB sets a breakpoint on the next line that it knows. Where the symbols have code on the very line that
  // is not compiled yet (a lambda's), that is the wrong place: the breakpoint waits instead. The same of
  // native functions that are called as the method is that add_managed() named. And a line is come to once:
  // of a body's places on it the one stays at which the line begins.
  void drop_wrong_lines(Session& session, const ProcessPublishing& publishing);
  // Enabled locations in published code that LLDB could not write to.
  std::vector<lldb::SBBreakpointLocation> not_planted(const ProcessPublishing& publishing);

  // Locations of one breakpoint that are looked at: a regular expression may have a hundred thousand.
  static constexpr std::size_t max_locations = 10'000;

private:
  static void drop_native(lldb::SBBreakpoint& breakpoint, const ProcessPublishing& publishing,
                          std::size_t first, std::size_t end);
  static void drop_later_statements(Session& session, lldb::SBBreakpoint& breakpoint,
                                    const ProcessPublishing& publishing, std::uint32_t line,
                                    std::size_t first);
  // The line where a breakpoint on a line belongs, and which of its locations were looked at.
  struct LineCheck {
    std::uint32_t line = 0; // 0: symbols do not tell
    std::size_t locations = 0;
    std::pair<int, Address> last; // the number and the address of the newest one
  };

  lldb::SBTarget target_;
  std::map<lldb::break_id_t, LineCheck> lines_; // of breakpoints on lines
  std::set<lldb::break_id_t> ours_;             // made by `clr break`
  std::set<lldb::break_id_t> one_shots_;
  std::vector<BreakpointWish> wishes_;
  bool waiting_ = false;
};

// A breakpoint on a line of such a file waits for a native library.
bool is_native_source(std::string_view file);

} // namespace clr::lldb_plugin
