// What LLDB's breakpoints and steps need in managed code: methods that are compiled later, pages that can be
// written to, signals that are no crashes.
#pragma once

#include "extension/breakpoints/breakpoint_wish.h"
#include "extension/breakpoints/code_pages.h"
#include "extension/breakpoints/compile_hook.h"
#include "extension/breakpoints/handler_stops.h"
#include "extension/publish/publishing.h"
#include "extension/session/session_store.h"

#include <lldb/API/LLDB.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

class ManagedBreakpoints final : public PublishListener {
public:
  ManagedBreakpoints(std::shared_ptr<SessionStore> sessions, Publishing& publishing)
      : sessions_(std::move(sessions)), publishing_(&publishing) {}

  void before_command(lldb::SBTarget& target, const char** words) override;
  bool at_stop(lldb::SBTarget& target) override;

  // Before LLDB sets a breakpoint: what it will write to becomes writable.
  void prepare_set(lldb::SBTarget& target, const BreakpointWish& wish) { before_set(entry_of(target), wish); }
  // A breakpoint on managed code, whatever LLDB can tell of it: new code is published when it is compiled, as
  // long as the breakpoint is there.
  void add(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint);
  bool is_managed(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint);
  // Plants what could not be planted, and stops at compilations if there is a managed breakpoint.
  void refresh(lldb::SBTarget& target);
  // Makes what a step touches writable: all jitted code. True when the step begins in managed code or may
  // end there.
  bool prepare_step(lldb::SBTarget& target);

  struct HookState {
    bool armed = false, learned = false;
    std::size_t compilations = 0;
    double milliseconds = 0; // spent on them here
  };
  HookState hook_state(lldb::SBTarget& target);

  // Steps of the selected thread stop in handlers of exceptions (HandlerStops::arm), also behind stops, until
  // the end is told.
  void follow_exceptions(lldb::SBTarget& target);
  void end_following(lldb::SBTarget& target);

private:
  // Where a breakpoint on a line belongs, and how many of its locations were looked at.
  struct LineCheck {
    std::uint32_t line = 0; // 0: symbols do not tell
    std::size_t locations = 0;
  };
  struct Entry {
    lldb::SBTarget target;
    std::uint32_t process = 0; // LLDB's unique id; 0: none yet
    std::unique_ptr<CompileHook> hook;
    std::unique_ptr<CodePages> pages;
    std::unique_ptr<HandlerStops> handlers;      // of the step that runs
    std::map<lldb::break_id_t, LineCheck> lines; // of breakpoints on lines
    std::set<lldb::break_id_t> ours;             // made by `clr break`
    std::vector<BreakpointWish> wishes;          // of the managed breakpoints
    bool following = false;                      // end_following() comes
    bool waiting = false;                        // one of these has no place yet
    std::size_t images = 0;                      // ReadyToRun images at the last look
    bool told = false, told_failure = false;
  };

  Entry& entry_of(lldb::SBTarget& target);
  std::unique_ptr<CompileHook> make_hook(lldb::SBTarget target);
  void collect_wishes(Entry& entry);
  bool is_managed(Entry& entry, lldb::SBBreakpoint& breakpoint, const BreakpointWish& wish);
  void arm(Entry& entry);
  void stop_in_handlers(Entry& entry, bool out);
  void plant_pending(Entry& entry);
  void drop_wrong_lines(Entry& entry, Session& session);
  bool goes_on(lldb::SBTarget& target);
  void before_set(Entry& entry, const BreakpointWish& wish);
  // False when some are not writable.
  bool make_writable(Entry& entry, const std::vector<CodeSpan>& spans, lldb::SBThread thread);
  void code_ready(lldb::SBTarget& target, lldb::SBThread& thread, Address start);
  void publish_compiled(Entry& entry, Session& session, lldb::SBThread& thread, Address start);
  void publish_new_images(Entry& entry, Runtime& runtime);
  bool concerns_anyone(Entry& entry, Session& session, const Method& method);

  std::shared_ptr<SessionStore> sessions_;
  Publishing* publishing_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

} // namespace clr::lldb_plugin
