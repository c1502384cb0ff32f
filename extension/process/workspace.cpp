#include "extension/process/workspace.h"

#include "core/memory/error.h"
#include "extension/lldb/added_frames.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/managed_value.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/python_parts.h"
#include "extension/process/new_targets.h"
#include "extension/process/value_visits.h"
#include "extension/session/stop_session.h"

#include <cerrno>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
void tell(lldb::user_id_t debugger, std::string_view text) {
  // LLDB hands ids out as 64 bits and takes them back as an int.
  lldb::SBDebugger found = lldb::SBDebugger::FindDebuggerWithID(static_cast<int>(debugger));
  if (found.IsValid()) notice(found, text);
}

bool is_gone(lldb::SBTarget& target) {
  return !target.IsValid() || target.GetDebugger().GetIndexOfTarget(target) == UINT32_MAX;
}

// The program is LLDB's driver, which does nothing but commands that somebody types or has written down.
// (While a file of commands is read its interpreter says that it is not active.)
bool is_driver() {
  const std::string_view program = program_invocation_short_name;
  return program.starts_with("lldb") && program.find("-dap") == std::string_view::npos &&
         program.find("-vscode") == std::string_view::npos;
}

// For breakpoints.
void publish_code(DebuggedProcess& process, const AskedCode& asked) {
  const bool armed = process.breakpoints().hook_state().armed;
  const bool images = armed && process.breakpoints().images_known();
  process.publishing().for_breakpoints(asked, images ? SearchedCode::jitted : SearchedCode::all, armed);
}

std::uint32_t process_of(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  return is_alive(life_of(process)) ? process.GetUniqueID() : 0;
}
} // namespace

Workspace::Workspace(lldb::user_id_t debugger)
    : Door([debugger](std::string_view text) { tell(debugger, text); }),
      processes_(
          {.is_gone = is_gone,
           .process_of = process_of,
           .make = [this](const lldb::SBTarget& target, std::uint32_t number, DebuggedProcess* before) {
             return std::make_shared<DebuggedProcess>(target, number, settings_, before);
           }}) {}

std::shared_ptr<Workspace> Workspace::make(lldb::SBDebugger& debugger) {
  const lldb::user_id_t id = debugger.GetID();
  const std::shared_ptr<Workspace> made(new Workspace(id));
  doors().add(id, made);
  return made;
}

std::shared_ptr<DebuggedProcess> Workspace::process(lldb::SBTarget target) {
  std::shared_ptr<DebuggedProcess> found = target.IsValid() ? processes_.at(std::move(target)) : nullptr;
  if (!found)
    throw Error(ErrorKind::invalid_argument, "there is no target; attach to a process or open a core file");
  return found;
}

std::vector<lldb::SBTarget> Workspace::targets_of_copied_hook(lldb::SBDebugger& debugger) {
  std::vector<lldb::SBTarget> targets{debugger.GetSelectedTarget()};
  for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i) {
    lldb::SBTarget target = debugger.GetTargetAtIndex(i);
    if (!target.IsValid() || target == targets.front() || !is_stopped_process(target)) continue;
    lldb::SBProcess process = target.GetProcess();
    const std::shared_ptr<DebuggedProcess> known = find(target);
    if (!is_core(process) && (!known || !known->came_to(process.GetStopID()))) targets.push_back(target);
  }
  return targets;
}

void Workspace::publish_all(lldb::SBDebugger& debugger) {
  for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i)
    if (lldb::SBTarget target = debugger.GetTargetAtIndex(i); target.IsValid())
      process(target)->publishing().update();
}

void Workspace::publish_stop(lldb::SBDebugger& debugger) {
  printed_.reset();
  prints_frames_ = false;
  for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i) {
    lldb::SBTarget target = debugger.GetTargetAtIndex(i);
    if (!target.IsValid()) continue;
    const std::shared_ptr<DebuggedProcess> found = process(target);
    const std::optional<AskedCode> asked = found->breakpoints().asked_code();
    const PublishLevel level = level_of_stop(settings_.publish.when, driver_, !asked);
    if (is_partial(level) && driver_.shows_by_commands())
      if (const std::vector<Address> places = found->known_places_of_stop(); !places.empty()) {
        found->publishing().at_known_places(places);
        continue;
      }
    found->publishing().at_stop(level);
    if (asked) publish_code(*found, *asked);
  }
}

void Workspace::publish_types_of_stop(lldb::SBDebugger& debugger) {
  if (driver_.by_commands()) return;
  for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i) {
    lldb::SBTarget target = debugger.GetTargetAtIndex(i);
    if (!target.IsValid()) continue;
    const std::shared_ptr<DebuggedProcess> found = process(target);
    offer_parts(debugger, *found);
    publish_types(*found);
  }
}

void Workspace::publish_types(DebuggedProcess& process) {
  const bool all = process.publishing().level() == PublishLevel::everything;
  if (!settings_.publish.on || !settings_.publish.variables || !all) return;
  process.types().publish_loaded();
}

void Workspace::publish_command(DebuggedProcess& process, const char** words) {
  std::vector<std::string_view> all;
  for (; words != nullptr && *words != nullptr; ++words) all.emplace_back(*words);
  driver_.command(all, is_driver());
  PublishLevel level = level_of_command(all, false);
  std::optional<AskedCode> waited_for;
  if (level != level_of_command(all, true)) {
    waited_for = process.breakpoints().asked_code();
    level = level_of_command(all, !waited_for);
  }
  // Who may look at code behind a command gets all with it.
  const bool all_at_stops = level_of_stop(settings_.publish.when, driver_, false) == PublishLevel::everything;
  if (level != PublishLevel::nothing && all_at_stops) level = PublishLevel::everything;
  if (level == PublishLevel::stack && !driver_.shows_by_commands()) level = PublishLevel::stacks;
  if (const AskedCode asked = code_of_command(all); !asked.empty() && !all_at_stops)
    process.publishing().before_command(asked);
  else
    process.publishing().before_command(level, all);
  if (waited_for) publish_code(process, *waited_for);
  if (!driver_.by_commands()) publish_types(process);
}

void Workspace::offer_parts(lldb::SBDebugger& debugger, DebuggedProcess& process) {
  if (parts_offered_ || process.publishing().status().modules == 0) return;
  parts_offered_ = true;
  add_parts(debugger, parts_category, managed_types, value_parts_entry());
  add_parts(debugger, plain_category, plain_types, value_parts_entry());
  for (const char* const category : asked_categories) debugger.GetCategory(category).SetEnabled(true);
}

std::shared_ptr<Session> Workspace::printed(const lldb::SBTarget& target) const {
  std::shared_ptr<Session> session = printed_.lock();
  return session && session->target() == target ? session : nullptr;
}

void Workspace::choose_parts(lldb::SBDebugger& debugger, bool frames) {
  const bool off = frames && !serves_client();
  prints_frames_ = off && !commands_added_;
  printed_.reset();
  if (off && parts_are_hidden()) return;
  if (!off || !parts_offered_ || commands_added_ || !python_is_idle(debugger))
    return show_parts(debugger, asked_categories);
  hide_parts(debugger, asked_categories);
}

void Workspace::require_async_frames(lldb::SBDebugger& debugger) {
  if (!can_add_frames(debugger))
    throw Error(
        ErrorKind::invalid_argument,
        "this LLDB takes no further frames: LLDB 22 and later do, with Python; clrbt --async shows them");
}

void Workspace::set_async_frames(lldb::SBDebugger& debugger, bool on) {
  on ? require_async_frames(debugger) : take_frames_back(debugger);
  settings_.async_frames = on ? ++async_frames_switched_on_ : 0;
}

bool Workspace::serves_client() {
  return !is_driver();
}

void Workspace::loaded(lldb::SBDebugger& debugger) {
  driver_.loaded(is_driver());
  if (driver_.by_commands()) return;
  publish_stop(debugger);
  publish_types_of_stop(debugger);
  // The driver launches by commands, also before it reads any.
  if (serves_client()) follow_new_targets(debugger);
}

void Workspace::set_search(PdbSearch search) {
  settings_.session.search = std::move(search);
  for (const auto& process : processes_.all()) {
    process->sessions().search_changed();
    process->breakpoints().symbols_changed();
    process->publishing().reconsider(); // lines may be found elsewhere now
  }
}

void Workspace::set_descriptor(std::shared_ptr<const DescriptorFile> descriptor) {
  settings_.session.descriptor = std::move(descriptor);
  set_search(search());
}

void Workspace::set_symbol_files(std::vector<AddedSymbolFile> files) {
  settings_.session.symbol_files = std::move(files);
  for (const auto& process : processes_.all()) process->sessions().symbol_files_changed();
}

void Workspace::set(const PublishSettings& settings) {
  if (settings == settings_.publish) return;
  settings_.publish = settings;
  for (const auto& process : processes_.all())
    if (settings.on)
      process->publishing().reconsider();
    else {
      process->publishing().withdraw();
      process->types().withdraw();
    }
}

} // namespace clr::lldb_plugin
