// Stops of a step in exception handlers. The code of a catch, finally or filter block is a function of its
// own (a funclet), which the runtime calls: no plan of LLDB's that waits for a return sees it, and the
// process would run away.
#pragma once

#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

class HandlerStops {
public:
  explicit HandlerStops(lldb::SBTarget target) : target_(std::move(target)) {}
  ~HandlerStops();
  HandlerStops(const HandlerStops&) = delete;
  HandlerStops& operator=(const HandlerStops&) = delete;

  // Until end_step(), `thread` stops at the first line of each handler of the methods on its stack when it
  // runs for one of the frames that are there now; without source lines (of async methods, using, foreach) it
  // does not stop in the handler, but in the frame that called the method. Of a catch handler that it stands
  // in the place behind it counts too. `out`: a step out of the selected frame, whose own handlers do not
  // count. x64. Cost: max_frames frames are unwound; that of handler_entries for each method that is new.
  void arm(Session& session, lldb::SBThread thread, bool out);
  // The step that began in a handler has left it for the runtime, which goes on with the exception: `thread`
  // comes to the next place by itself.
  bool goes_on(lldb::SBThread thread);
  // No stops from now on: the step has ended. The places stay as they are, since LLDB still has to tell where
  // it stopped, until the process is to run on.
  void end_step() { thread_ = 0; }
  // Before the process runs on.
  void disarm();

  static constexpr std::uint32_t max_frames = 128;
  static constexpr std::size_t max_places = 1'000; // that are remembered

private:
  // The value of rbp by which handlers know the frame of their method.
  using Frames = std::set<lldb::addr_t>;
  struct Place {
    lldb::SBBreakpoint breakpoint;
    Frames stops;                                             // frames for which it is a stop
    std::map<lldb::addr_t, std::pair<Address, Address>> then; // frame, and the place and frame to wait for
  };
  struct Handlers {
    Address method_desc = 0, code_header = 0; // whose they are
    std::vector<Address> shown, hidden;       // with and without a source line
  };
  struct Frame {
    Address pc = 0, rbp = 0;
    bool has_line = false, funclet = false;
    const Handlers* handlers = nullptr; // null: no managed code
  };

  static bool on_hit(void* self, lldb::SBProcess& process, lldb::SBThread& thread,
                     lldb::SBBreakpointLocation& location);
  bool hit(lldb::SBThread& thread);
  std::vector<Frame> frames_of(Session& session, lldb::SBThread& thread);
  const Handlers& handlers_of(Session& session, const CodeBlock& block);
  Place& place(Address address);
  void add_resume_places(Session& session, const Frame& frame);

  lldb::SBTarget target_;
  lldb::tid_t thread_ = 0; // 0: no step
  bool planted_ = false;   // some places are enabled
  Address left_to_ = 0;    // where the handler that the thread stood in returns to in the runtime; 0: none
  std::map<Address, Place> places_;      // by address; not all are wanted
  std::map<Address, Handlers> handlers_; // by start of the body
};

} // namespace clr::lldb_plugin
