#include "extension/publish/process_publishing.h"

#include "core/memory/error.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/native_modules.h"
#include "extension/lldb/newer_api.h"
#include "extension/lldb/stop_hook.h"
#include "extension/publish/disassembled_code.h"
#include "extension/publish/shown_code.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t max_shown_threads = 16; // that are described at a stop, beside the selected one

bool has_no_runtime(const Runtime& runtime) {
  const auto* absence = runtime.absence();
  const auto* miss = absence == nullptr ? nullptr : std::get_if<MissAnswer>(absence);
  return miss != nullptr &&
         (miss->reason == MissReason::no_runtime || miss->reason == MissReason::native_aot);
}
} // namespace

// After an attach LLDB runs a hook for every thread: so a target gets its hook once it has been published.
void ProcessPublishing::hook() {
  if (publisher_.status().modules != 0) follow_stops();
}

void ProcessPublishing::follow_stops() {
  if (!settings_->on || std::exchange(hooked_, true)) return;
  if (lldb::SBProcess process = target_.GetProcess(); !is_core(process))
    add_stop_hook(target_, hook_command, fmt::format("{} {}", hook_option, hook_));
}

void ProcessPublishing::add_native(Session& session) {
  lldb::SBProcess process = target_.GetProcess();
  if (!settings_->on || native_added_ || !is_core(process) || session.runtime().absence() != nullptr) return;
  native_added_ = true;
  // LLDB takes the first module for the program that it launches when it knows no other.
  if (!target_.GetExecutable().IsValid() && session.executable_file().empty()) return;
  add_native_modules(target_, session.runtime().modules(),
                     [&](const LoadedModule& module) { return session.file_of(module); });
}

bool ProcessPublishing::reads() {
  return why_unreadable(life_of(target_)).empty();
}

std::vector<MemoryRange> ProcessPublishing::update(PublishLevel level) {
  std::vector<lldb::tid_t> threads;
  if (level == PublishLevel::stack)
    if (lldb::SBThread thread = target_.GetProcess().GetSelectedThread(); thread.IsValid())
      threads.push_back(thread.GetThreadID());
  return update(level, std::move(threads));
}

std::optional<std::vector<lldb::tid_t>> ProcessPublishing::shown_at_stop() {
  lldb::SBProcess process = target_.GetProcess();
  std::vector<lldb::tid_t> shown{process.GetSelectedThread().GetThreadID()};
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    const lldb::StopReason reason = thread.GetStopReason();
    if (reason == lldb::eStopReasonInvalid || reason == lldb::eStopReasonNone) continue;
    if (shown.size() > max_shown_threads) return std::nullopt;
    shown.push_back(thread.GetThreadID());
  }
  return shown;
}

std::vector<MemoryRange> ProcessPublishing::update(PublishLevel level, std::vector<lldb::tid_t> threads) {
  if (!settings_->on || level == PublishLevel::nothing || !reads()) return {};
  if (level == PublishLevel::stack && threads.empty()) level = PublishLevel::stacks;
  std::ranges::sort(threads);
  const auto began = std::chrono::steady_clock::now();
  if (publisher_.was_dropped()) withdraw();
  publisher_.make_way();
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  const std::uint32_t modules = target_.GetNumModules();
  // What was interrupted is gone on with.
  if (!state_.complete()) level = std::max(level, state_.level_at(stop));
  if (!state_.wants_update(level, stop, modules, threads)) return {};
  try {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    add_native(*session);
    std::vector<MemoryRange> added = publisher_.update(*session, *settings_, level, threads, began);
    // A thread without managed code: something is published of every process with a runtime, because LLDB's
    // stops are followed from then on.
    if (level == PublishLevel::stack && publisher_.status().modules == 0) {
      level = PublishLevel::stacks;
      added = publisher_.update(*session, *settings_, level, {}, began);
    }
    state_.updated(level, stop, publisher_.status().complete, !has_no_runtime(session->runtime()), modules,
                   threads);
    hook();
    return added;
  } catch (const Error& error) {
    publisher_.refuse(error.what());
    return {};
  }
}

std::vector<MemoryRange> ProcessPublishing::add(Session& session, Address ip) {
  if (!settings_->on) return {};
  std::vector<MemoryRange> added = publisher_.add(session, *settings_, ip);
  hook();
  state_.added(publisher_.status().complete);
  return added;
}

void ProcessPublishing::add(Session& session, const std::vector<Address>& places) {
  if (places.empty()) return;
  publisher_.add(session, *settings_, places);
  state_.added(publisher_.status().complete);
}

void ProcessPublishing::before_command(PublishLevel level, std::span<const std::string_view> words) {
  if (level == PublishLevel::nothing) return;
  update(level);
  const bool listing = disassembles(words);
  const PublishLevel reached = this->level();
  if (!settings_->on || reached == PublishLevel::nothing || (!is_partial(reached) && !listing)) return;
  try {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    if (session->runtime().absence() != nullptr) return;
    if (listing)
      add(*session, addresses_disassembled(*session, words));
    else if (const auto named = addresses_shown(*session, words))
      add(*session, *named);
    else
      update(PublishLevel::everything);
  } catch (const Error& error) {
    publisher_.refuse(error.what());
  }
}

void ProcessPublishing::before_command(const AskedCode& asked) {
  update(PublishLevel::stacks);
  if (!settings_->on || !is_partial(this->level())) return;
  try {
    if (!add(*sessions_->at_stop(), asked)) update(PublishLevel::everything);
  } catch (const Error& error) {
    publisher_.refuse(error.what());
  }
}

bool ProcessPublishing::add(Session& session, const AskedCode& asked, SearchedCode where) {
  lldb::SBDebugger debugger = target_.GetDebugger();
  const auto stop = [&] { return interrupt_requested(debugger); };
  if (!asked.names.empty()) {
    const auto found = code_named(session.runtime(), asked.names, stop, where);
    if (!found) return false;
    add(session, *found);
  }
  if (!asked.files.empty()) {
    const auto found = code_in_files(session.runtime(), asked.files, stop, where);
    if (!found) return false;
    add(session, *found);
  }
  return true;
}

bool ProcessPublishing::add_asked(Session& session, const AskedCode& asked) {
  if (!settings_->on || session.runtime().absence() != nullptr || !add(session, asked)) return false;
  hook();
  return true;
}

void ProcessPublishing::for_breakpoints(const AskedCode& asked, SearchedCode where, bool told) {
  if (asked.empty()) looked_for_.reset(); // nobody tells of compilations then
  if (!settings_->on || asked.empty() || !is_partial(level())) return;
  try {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    if (session->runtime().absence() != nullptr) return;
    const auto images = static_cast<std::size_t>(
        std::ranges::count_if(session->runtime().code()->sections(),
                              [](const RangeSection& section) { return section.r2r_module != 0; }));
    std::pair<AskedCode, std::size_t> wanted{asked, images};
    if (told && looked_for_ == wanted) return;
    if (!add(*session, asked, where)) update(PublishLevel::everything);
    looked_for_.reset();
    if (publisher_.status().complete) looked_for_ = std::move(wanted); // else the next stop goes on
  } catch (const Error& error) {
    publisher_.refuse(error.what());
  }
}

void ProcessPublishing::at_stop(PublishLevel level) {
  const auto shown = level == PublishLevel::stack && reads() ? shown_at_stop() : std::nullopt;
  if (shown)
    update(level, *shown);
  else
    update(std::max(level, PublishLevel::stacks));
  if (!settings_->on || !is_partial(this->level())) return;
  try {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    if (session->runtime().absence() == nullptr) add(*session, addresses_at_stop(*session));
  } catch (const Error& error) {
    publisher_.refuse(error.what());
  }
}

void ProcessPublishing::at_known_places(const std::vector<Address>& places) {
  try {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    if (session->runtime().absence() != nullptr) return;
    publisher_.add_standing(*session, *settings_, places);
    state_.added(publisher_.status().complete);
    add(*session, addresses_at_stop(*session));
  } catch (const Error& error) {
    publisher_.refuse(error.what());
  }
}

PublishLevel ProcessPublishing::level() {
  if (!reads()) return PublishLevel::nothing;
  return state_.level_at(target_.GetProcess().GetStopID(true));
}

void ProcessPublishing::before_step(Session& session) {
  if (!settings_->on) return;
  // The runtime's lists of stubs, too: a stop that showed known code alone has not looked at them.
  update(PublishLevel::stacks);
  publisher_.add_unknown_stubs(session, *settings_);
}

void ProcessPublishing::reconsider() {
  publisher_.reconsider();
  looked_for_.reset();
  state_.reconsidered();
}

void ProcessPublishing::withdraw() {
  publisher_.withdraw();
  state_.withdrawn();
  looked_for_.reset();
}

} // namespace clr::lldb_plugin
