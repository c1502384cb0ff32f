// Stops a process for a moment whenever its runtime has made code ready: between compiling a method and the
// first call of it. Without symbols of the runtime, and without anything that the process must be started
// with.
#pragma once

#include "extension/session/session_store.h"

#include <lldb/API/LLDB.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// How it works: a breakpoint at the JIT's compileMethod is hit at the start of a compilation. Of the places
// that it will return to, frame by frame, the innermost whose return value is the start of a method as the
// runtime knows it is the one behind which the code is complete and not yet called; it is kept, the others
// go. From then on there is one stop for each method.
class CompileHook {
public:
  enum class Code : std::uint8_t { none, jitted, ready_to_run };
  struct Client {
    // Address of compileMethod; 0: not known (yet).
    std::function<lldb::addr_t()> compile_method;
    // What starts at `address`.
    std::function<Code(lldb::addr_t address)> code_at;
    // Code that starts at `address` is ready; `thread` has just made it so.
    std::function<void(lldb::SBThread& thread, lldb::addr_t address)> ready;
    // Who handles a hit has the turn; without it nothing is done.
    std::function<SessionStore::Turn()> turn;
  };

  CompileHook(lldb::SBTarget target, Client client)
      : target_(std::move(target)), client_(std::move(client)) {}
  ~CompileHook();
  CompileHook(const CompileHook&) = delete;
  CompileHook& operator=(const CompileHook&) = delete;

  // Stops from now on; when no JIT compiler is loaded yet, from when it is. No cost when it stops already.
  void arm();
  // No stop any more; what was learned is kept.
  void disarm();
  // Deletes breakpoints that are not needed any more: not while one of them is being handled.
  void tidy();

  // A breakpoint of this was there at some time.
  bool was_at(lldb::addr_t pc) const { return planted_.contains(pc); }
  bool armed() const { return armed_; }
  // The place behind compilations is known.
  bool learned() const { return ready_site_ != 0; }
  std::size_t hits() const { return hits_; }
  // What handling them took here, all together, in milliseconds; LLDB's own part is not in it.
  double milliseconds() const { return milliseconds_; }

private:
  // Frames above compileMethod whose return is watched until the right one is known.
  static constexpr std::uint32_t watched_frames = 8;
  // Compilations after which a way around the learned place would have shown.
  static constexpr unsigned wanted_confirmations = 8;

  static bool on_hit(void* self, lldb::SBProcess& process, lldb::SBThread& thread,
                     lldb::SBBreakpointLocation& location);
  void hit(lldb::SBThread& thread, lldb::addr_t pc);
  void compilation_begins(lldb::SBThread& thread);
  void returned(lldb::SBThread& thread, lldb::addr_t pc);
  void watch(lldb::addr_t pc);
  void learn(lldb::addr_t pc);
  lldb::SBBreakpoint plant(lldb::addr_t pc);

  lldb::SBTarget target_;
  Client client_;
  lldb::SBBreakpoint loading_; // of the JIT's library
  lldb::SBBreakpoint entry_;   // compileMethod
  lldb::addr_t entry_address_ = 0, ready_site_ = 0;
  std::map<lldb::addr_t, lldb::SBBreakpoint> sites_; // return addresses
  std::vector<lldb::break_id_t> unwanted_;
  std::set<lldb::addr_t> planted_;
  unsigned confirmations_ = 0;
  std::size_t hits_ = 0;
  double milliseconds_ = 0;
  bool armed_ = false;
};

} // namespace clr::lldb_plugin
