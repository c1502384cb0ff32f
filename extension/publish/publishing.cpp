#include "extension/publish/publishing.h"

#include "core/memory/error.h"
#include "extension/lldb/core_file.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
constexpr std::uint32_t no_stop = 0xFFFF'FFFF;

bool has_no_runtime(const Runtime& runtime) {
  const auto* absence = runtime.absence();
  const auto* miss = absence == nullptr ? nullptr : std::get_if<MissAnswer>(absence);
  return miss != nullptr && miss->reason == MissReason::no_runtime;
}

constexpr std::string_view hook_command = "clr publish update";

// LLDB runs a hook once for each thread that stopped for a reason, under a header when there are several.
// After an attach that is every thread: so a target gets its hook once it has been published.
void add_stop_hook(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  if (is_core(process)) return;
  lldb::SBDebugger debugger = target.GetDebugger();
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  lldb::SBTarget selected = debugger.GetSelectedTarget();
  lldb::SBCommandReturnObject list, added;
  debugger.SetSelectedTarget(target); // whose hooks the commands mean
  interpreter.HandleCommand("target stop-hook list", list);
  const char* hooks = list.GetOutput();
  // A target that is run again has its hook still.
  if (hooks == nullptr || std::string_view(hooks).find(hook_command) == std::string_view::npos)
    interpreter.HandleCommand(fmt::format("target stop-hook add -o '{}'", hook_command).c_str(), added);
  if (selected.IsValid()) debugger.SetSelectedTarget(selected);
}
} // namespace

void Publishing::set(const PublishSettings& settings) {
  if (settings == settings_) return;
  settings_ = settings;
  withdraw();
}

void Publishing::drop_stale() {
  std::erase_if(entries_, [](Entry& entry) {
    if (!entry.target.IsValid()) return true;
    lldb::SBProcess process = entry.target.GetProcess();
    if (process.IsValid() && process.GetUniqueID() == entry.process &&
        process.GetState() != lldb::eStateExited && process.GetState() != lldb::eStateDetached)
      return false;
    entry.publisher->withdraw();
    return true;
  });
}

Publishing::Entry& Publishing::entry_of(lldb::SBTarget& target) {
  drop_stale();
  for (Entry& entry : entries_)
    if (entry.target == target) return entry;
  entries_.push_back(
      {target, target.GetProcess().GetUniqueID(), no_stop, 0, false, std::make_unique<Publisher>(target)});
  return entries_.back();
}

void Publishing::hook(Entry& entry) {
  if (entry.hooked || entry.publisher->status().modules == 0) return;
  entry.hooked = true;
  add_stop_hook(entry.target);
}

std::vector<MemoryRange> Publishing::update(lldb::SBTarget& target) {
  if (!settings_.on) return {};
  try {
    const auto began = std::chrono::steady_clock::now();
    if (!target.GetProcess().IsValid()) return {};
    Entry& entry = entry_of(target);
    const std::uint32_t stop = target.GetProcess().GetStopID(true);
    if (entry.stop == stop) return {};
    // Where no module was loaded since there was no runtime, there is none now.
    const std::uint32_t modules = target.GetNumModules();
    if (entry.modules_without_runtime == modules && modules != 0) return {};
    lldb::SBDebugger debugger = target.GetDebugger();
    const std::shared_ptr<Session> session = sessions_->of(debugger, target);
    std::vector<MemoryRange> added = entry.publisher->update(*session, settings_, began);
    entry.stop = stop;
    hook(entry);
    entry.modules_without_runtime = has_no_runtime(session->runtime()) ? modules : 0;
    return added;
  } catch (const Error&) {
    drop_stale();
    return {};
  }
}

void Publishing::update_all(lldb::SBDebugger& debugger) {
  for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i) {
    lldb::SBTarget target = debugger.GetTargetAtIndex(i);
    update(target);
  }
}

std::vector<MemoryRange> Publishing::add(lldb::SBTarget& target, Session& session, Address ip) {
  if (!settings_.on) return {};
  try {
    Entry& entry = entry_of(target);
    hook(entry);
    return entry.publisher->add(session, settings_, ip);
  } catch (const Error&) {
    return {};
  }
}

void Publishing::before_step(lldb::SBTarget& target, Session& session) {
  if (!settings_.on) return;
  for (Entry& entry : entries_)
    if (entry.target == target) entry.publisher->add_unknown_stubs(session, settings_);
}

void Publishing::withdraw() {
  for (Entry& entry : entries_) {
    entry.publisher->withdraw();
    entry.stop = no_stop;
  }
}

const Publisher* Publishing::of(lldb::SBTarget& target) const {
  for (const Entry& entry : entries_) {
    lldb::SBTarget known = entry.target;
    if (known == target) return entry.publisher.get();
  }
  return nullptr;
}

namespace {
// LLDB's commands that show or use what is published. Their aliases (bt, b, up) end in these.
constexpr const char* commands[] = {
    "thread backtrace",      "thread list",         "thread select",       "thread info",
    "thread until",          "thread step-in",      "thread step-out",     "thread step-over",
    "thread return",         "thread continue",     "frame info",          "frame select",
    "frame variable",        "frame diagnose",      "frame recognizer",    "disassemble",
    "target modules lookup", "target modules list", "target modules dump", "target modules show-unwind",
    "target symbols add",    "target variable",     "source list",         "source info",
    "breakpoint set",        "breakpoint list",     "dwim-print",          "expression",
    "process status",        "process continue",    "process launch",      "process attach",
    "process save-core",     "register read",
};

// What an override is called with. LLDB never takes one back, so it lives as long as LLDB; by its number it
// does not keep the debugger.
struct Registered {
  lldb::user_id_t debugger;
  std::shared_ptr<Publishing> publishing;
};

bool update_before(void* baton, const char** words) {
  const auto& registered = *static_cast<const Registered*>(baton);
  lldb::SBDebugger debugger = lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(registered.debugger));
  lldb::SBTarget target = debugger.GetSelectedTarget();
  if (!target.IsValid()) return false;
  const SessionStore::Turn turn = registered.publishing->sessions().try_turn();
  if (!turn.owns_lock()) return false;
  registered.publishing->update(target);
  if (PublishListener* listener = registered.publishing->listener()) listener->before_command(target, words);
  return false; // LLDB goes on with its command
}
} // namespace

void publish_at_stops(lldb::SBDebugger& debugger, const std::shared_ptr<Publishing>& publishing) {
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  auto* registered = new Registered{debugger.GetID(), publishing};
  for (const char* command : commands)
    interpreter.SetCommandOverrideCallback(command, update_before, registered);

  publishing->update_all(debugger);
}

} // namespace clr::lldb_plugin
