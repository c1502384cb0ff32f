// Frames and state machines of async methods in a stopped process.
#pragma once

#include "extension/breakpoints/await_watch.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace clr::lldb_plugin {

class AwaitFrames final : public AwaitWatch::Machines {
public:
  // The debugger is told of the code that holds an address, if it was not yet.
  using ShowCode = std::function<void(Session&, Address)>;

  // `sessions` must outlive this, and be of the process of `target`.
  AwaitFrames(lldb::SBTarget target, StopSession& sessions, ShowCode show)
      : target_(std::move(target)), sessions_(&sessions), show_(std::move(show)) {}

  // What a step of `thread` follows; nothing when it does not stand in an async method with lines. Cost: its
  // frames are unwound up to the caller.
  std::optional<AwaitWatch::Step> step_of(lldb::SBThread& thread, bool out);

  // The body that starts at `start`, when it is of the same method as `like`.
  std::optional<AwaitWatch::Body> another_body(Address start, const AwaitWatch::Body& like);
  // The runtime may compile the method of `body` anew, by itself.
  bool is_replaceable(const AwaitWatch::Body& body);

  std::optional<StateMachine> read(Address table, Address self) override;
  std::uint32_t mark(const StateMachine& machine, bool make) override;
  bool is_done(const StateMachine& machine) override;
  // Cost: that of Runtime::for_each_method over compiled code.
  std::optional<AwaitWatch::Running> continuation(const StateMachine& machine) override;
  std::vector<AwaitWatch::Body> bodies(const AwaitWatch::Body& body) override;

  static constexpr std::uint32_t max_frames = 64; // between an async method and its caller

private:
  // With the debugger's knowledge of it: without that frames of the body cannot be told.
  std::optional<AwaitWatch::Body> body_of(Session& session, const CodeBlock& block, const Method& method);
  std::vector<AwaitWatch::Body> bodies_of(Session& session, const std::string& name);
  std::optional<AwaitWatch::Caller> caller_of(Session& session, lldb::SBFrame frame);

  lldb::SBTarget target_;
  StopSession* sessions_;
  ShowCode show_;
  // The next one for a task: the runtime counts from 1 on. It does not begin where a debugger began that the
  // process had before.
  std::uint32_t next_number_ =
      0x8000'0000 |
      (static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count()) & 0x3FFF'FFFF);
};

// Where lines begin in the function that has code at `at`, as far as the debugger knows them.
std::vector<AwaitWatch::Line> lines_of(lldb::SBTarget target, Address at);

// A thread of LLDB's that came to a place.
class AwaitVisitor final : public AwaitWatch::Visitor {
public:
  // `follow`: exceptions of this thread are followed, or no longer. `end`: a thread's step is given up.
  AwaitVisitor(lldb::SBThread& thread, std::function<void(bool)> follow,
               std::function<void(lldb::SBThread&)> end)
      : thread_(&thread), follow_(std::move(follow)), end_(std::move(end)) {}

  std::uint64_t thread() override { return thread_->GetThreadID(); }
  Address pc() override { return frame().GetPC(); }
  Address sp() override { return frame().GetSP(); }
  Address cfa() override { return frame().GetCFA(); }
  Address argument() override;
  std::optional<Address> machine_of(std::uint64_t thread, Address cfa) override;
  std::vector<AwaitWatch::Line> lines(Address at) override;
  Address behind_call(Address slot) override;
  Address behind_calls(Address begin) override;
  void leave(std::uint64_t thread) override;
  void follow_exceptions() override { follow_(true); }

private:
  lldb::SBFrame frame() { return thread_->GetFrameAtIndex(0); }

  lldb::SBThread* thread_;
  std::function<void(bool)> follow_;
  std::function<void(lldb::SBThread&)> end_;
};

} // namespace clr::lldb_plugin
