// Steps in managed code beyond what LLDB's own plans see: into exception handlers, and over calls that
// compile methods.
#pragma once

#include "extension/breakpoints/handler_frames.h"
#include "extension/breakpoints/handler_watch.h"
#include "extension/breakpoints/own_breakpoints.h"
#include "extension/publish/process_publishing.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

class ManagedSteps {
public:
  // Sessions and publishing are of the target's process, and must outlive this. `hit` is called when a thread
  // comes to a place of a step.
  ManagedSteps(lldb::SBTarget target, StopSession& sessions, ProcessPublishing& publishing, HitEntry hit)
      : target_(target), sessions_(&sessions), publishing_(&publishing), places_(target, Hidden::asked, hit),
        handlers_(places_) {}

  // A command begins a step of `thread`, out of its function or by lines. Code heaps are writable.
  void begin(lldb::SBThread thread, bool out);
  // Steps of `thread` stop in handlers of exceptions until end_following(), also behind stops.
  void follow_exceptions(lldb::SBThread thread);
  void end_following();

  // A thread came to a place: true when its step ends there.
  bool stops(lldb::SBThread& thread);
  // Before `thread` goes on from a place of the plugin's: the plan of its step walks the stack then.
  void let_unwind(lldb::SBThread& thread);
  // At a stop that is none to the user: a step of the debugger's has ended, but not that of the user's.
  bool go_on();
  // At a stop.
  void end();
  // Before the process runs on.
  void disarm();

  // The process is another one or gone.
  void retire() { places_.remove_all(); }

private:
  lldb::SBTarget target_;
  StopSession* sessions_;
  ProcessPublishing* publishing_;
  OwnBreakpoints places_;
  HandlerWatch handlers_;
  HandlerFrames handler_frames_;
  bool following_ = false; // end_following() comes
};

} // namespace clr::lldb_plugin
