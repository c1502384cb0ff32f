#include "extension/publish/process_publishing.h"

#include "core/memory/error.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/stop_hook.h"

#include <chrono>

namespace clr::lldb_plugin {

namespace {
constexpr const char* hook_command = "clr publish update";

bool has_no_runtime(const Runtime& runtime) {
  const auto* absence = runtime.absence();
  const auto* miss = absence == nullptr ? nullptr : std::get_if<MissAnswer>(absence);
  return miss != nullptr && miss->reason == MissReason::no_runtime;
}
} // namespace

// After an attach LLDB runs a hook for every thread: so a target gets its hook once it has been published.
void ProcessPublishing::hook() {
  if (hooked_ || publisher_.status().modules == 0) return;
  hooked_ = true;
  if (lldb::SBProcess process = target_.GetProcess(); !is_core(process)) add_stop_hook(target_, hook_command);
}

std::vector<MemoryRange> ProcessPublishing::update(bool goes_on) {
  if (!settings_->on || !why_unreadable(life_of(target_)).empty()) return {};
  const auto began = std::chrono::steady_clock::now();
  if (publisher_.was_dropped()) withdraw();
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  const std::uint32_t modules = target_.GetNumModules();
  if (!state_.wants_update(stop, modules, goes_on)) return {};
  try {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    std::vector<MemoryRange> added = publisher_.update(*session, *settings_, began);
    state_.updated(stop, publisher_.status().complete, !has_no_runtime(session->runtime()), modules);
    hook();
    return added;
  } catch (const Error& error) {
    publisher_.refuse(error.what());
    return {};
  }
}

std::vector<MemoryRange> ProcessPublishing::add(Session& session, Address ip) {
  if (!settings_->on) return {};
  hook();
  std::vector<MemoryRange> added = publisher_.add(session, *settings_, ip);
  state_.added(publisher_.status().complete);
  return added;
}

void ProcessPublishing::before_step(Session& session) {
  if (settings_->on) publisher_.add_unknown_stubs(session, *settings_);
}

void ProcessPublishing::withdraw() {
  publisher_.withdraw();
  state_.withdrawn();
}

} // namespace clr::lldb_plugin
