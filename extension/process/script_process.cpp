// The way from scripts to LLDB's processes: the plugin's part of the C interface (include/lldb_clr.h).
#include "capi/inspection.h"
#include "core/memory/error.h"
#include "extension/door/door.h"
#include "extension/lldb/modules.h"
#include "extension/process/workspace.h"
#include "extension/session/chosen_thread.h"
#include "extension/session/stack_walk.h"

#include <fmt/format.h>

#include <memory>

namespace clr::lldb_plugin {

namespace {

// A process of LLDB's at the stop at which it was opened.
class ScriptProcess final : public capi::Inspection {
public:
  ScriptProcess(std::weak_ptr<Door> door, lldb::SBTarget target, std::shared_ptr<Session> session)
      : door_(std::move(door)), target_(std::move(target)), process_(target_.GetProcess()),
        id_(process_.GetUniqueID()), stop_(process_.GetStopID(true)), session_(std::move(session)) {}

  void in_turn(const std::function<void()>& act) override {
    const std::shared_ptr<Door> door = door_.lock();
    if (!door) return act(); // the debugger is gone, and with it everybody else
    door->call(Way::script, [&](const Turn&) { act(); });
  }

  void require_current() override {
    lldb::SBProcess now = target_.GetProcess();
    if (!now.IsValid() || now.GetUniqueID() != id_)
      throw capi::Stale("the process that this was read from is gone");
    const lldb::StateType state = latest_state(now);
    if (state == lldb::eStateExited || state == lldb::eStateDetached)
      throw capi::Stale("the process that this was read from has ended or was let go");
    if (state == lldb::eStateRunning || state == lldb::eStateStepping || now.GetStopID(true) != stop_)
      throw capi::Stale("the process has run since this was read; make a new Runtime at each stop");
  }

  Runtime& runtime() override { return session_->runtime(); }
  MemoryReader& memory() override { return session_->memory(); }
  StackReporter& stacks() override { return session_->stacks(); }

  std::vector<ThreadRow> threads() override {
    std::vector<ThreadRow> rows;
    const lldb::tid_t selected = process_.GetSelectedThread().GetThreadID();
    for (std::uint32_t i = 0; i < process_.GetNumThreads(); ++i) {
      lldb::SBThread thread = process_.GetThreadAtIndex(i);
      if (thread.IsValid()) rows.push_back(describe_thread(*session_, thread, selected));
    }
    return rows;
  }

  std::optional<capi::FirstThread> first_thread() override {
    ChosenThread found = choose_thread(*session_, process_);
    if (!found.thread.IsValid()) return std::nullopt;
    return capi::FirstThread{.index = found.thread.GetIndexID(),
                             .os_id = found.thread.GetThreadID(),
                             .why = found.why,
                             .crash = found.crash(*session_)};
  }
  std::uint64_t process_id() override { return process_.GetProcessID(); }
  Address program_name() override { return session_->program_name(); }

  StackReporter::End walk(std::uint64_t os_id, const StackReporter::Options& options,
                          const std::function<bool(const FrameRow&)>& visit) override {
    lldb::SBThread thread = process_.GetThreadByID(os_id);
    if (!thread.IsValid())
      throw Error(ErrorKind::invalid_argument, fmt::format("the process has no thread with id {}", os_id));
    return walk_stack(*session_, thread, options, visit);
  }

  RegisterContext registers(std::uint64_t os_id) override {
    lldb::SBThread thread = process_.GetThreadByID(os_id);
    if (!thread.IsValid())
      throw Error(ErrorKind::invalid_argument, fmt::format("the process has no thread with id {}", os_id));
    return session_->registers(thread);
  }

  HeapReporter& heap() override { return session_->heap(); }
  HeapHolders& holders() override { return session_->holders(); }
  HeapRetainers& retainers() override { return session_->retainers(); }

  std::string symbol_at(Address address) override { return lldb_plugin::symbol_at(target_, address); }
  MemoryReport memory_report() override { return session_->memory_report(); }
  SaveSource save_source() override { return session_->save_source(); }

  void publish() override {
    const std::shared_ptr<Door> door = door_.lock();
    if (!door) throw capi::Stale("the debugger is gone");
    door->call(Way::script, [&](const Turn& turn) {
      Workspace& workspace = Workspace::of(turn);
      if (!workspace.publish_settings().on)
        throw Error(ErrorKind::invalid_argument, "publishing is off (clr publish on)");
      const std::shared_ptr<DebuggedProcess> process = workspace.process(target_);
      process->publishing().update();
      if (!process->publishing().complete())
        throw Error(ErrorKind::interrupted, "interrupted; the next call goes on with it");
      workspace.publish_types(*process);
    });
  }

private:
  // LLDB's own state follows only when somebody takes its events, which a script seldom does: an
  // event that waits tells more.
  lldb::StateType latest_state(lldb::SBProcess& process) {
    lldb::SBEvent event;
    lldb::SBListener listener = target_.GetDebugger().GetListener();
    if (listener.PeekAtNextEventForBroadcasterWithType(process.GetBroadcaster(),
                                                       lldb::SBProcess::eBroadcastBitStateChanged, event))
      return lldb::SBProcess::GetStateFromEvent(event);
    return process.GetState();
  }

  std::weak_ptr<Door> door_;
  lldb::SBTarget target_;
  lldb::SBProcess process_;
  std::uint32_t id_, stop_;
  std::shared_ptr<Session> session_;
};

} // namespace

} // namespace clr::lldb_plugin

namespace clr::capi {

std::shared_ptr<Inspection> open_process(std::uint64_t debugger, std::uint32_t target,
                                         std::uint32_t process) {
  const std::shared_ptr<lldb_plugin::Door> door = lldb_plugin::doors().find(debugger);
  // LLDB hands ids out as 64 bits and takes them back as an int.
  lldb::SBDebugger found =
      door ? lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(debugger)) : lldb::SBDebugger();
  if (!found.IsValid())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the plugin is not loaded in the debugger with id {} (plugin load)", debugger));
  return door->call(lldb_plugin::Way::script, [&](const lldb_plugin::Turn& turn) {
    lldb::SBTarget chosen = found.GetTargetAtIndex(target);
    if (!chosen.IsValid() || !chosen.GetProcess().IsValid() || chosen.GetProcess().GetUniqueID() != process)
      throw Stale("the process is gone");
    const auto debugged = lldb_plugin::Workspace::of(turn).process(chosen);
    return std::make_shared<lldb_plugin::ScriptProcess>(door, chosen, debugged->sessions().lend());
  });
}

bool debugger_known(std::uint64_t debugger) {
  return lldb_plugin::doors().find(debugger) != nullptr;
}

} // namespace clr::capi
