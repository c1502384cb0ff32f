#include "extension/breakpoints/managed_breakpoints.h"

#include "core/describe/break_targets.h"
#include "core/memory/error.h"
#include "core/memory/path_map.h"
#include "core/runtime/source_lines.h"
#include "extension/breakpoints/breakpoint_places.h"
#include "extension/breakpoints/compile_method.h"
#include "extension/breakpoints/managed_faults.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/stop_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// Locations of one breakpoint that are looked at: a regular expression may have a hundred thousand.
constexpr std::size_t max_locations = 10'000;

bool has_process(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  return process.IsValid() && process.GetState() == lldb::eStateStopped;
}

bool is_core_file(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  return is_core(process);
}

// A line breakpoint in a source file of another language waits for a native library.
bool is_native_source(std::string_view file) {
  constexpr std::array<std::string_view, 10> endings{".c",   ".cc", ".cpp", ".cxx", ".h",
                                                     ".hpp", ".rs", ".s",   ".S",   ".go"};
  return std::ranges::any_of(endings, [&](std::string_view ending) { return file.ends_with(ending); });
}

BreakpointWish wish_of(lldb::SBBreakpoint& breakpoint) {
  lldb::SBStream text;
  breakpoint.GetDescription(text, false);
  return wish_of_description(text.GetData() != nullptr ? text.GetData() : "");
}

std::vector<CodeSpan> code_heaps(Session& session) {
  std::vector<CodeSpan> heaps;
  for (const RangeSection& section : session.runtime().code()->sections())
    if ((section.flags & RangeSection::code_heap) != 0 && section.r2r_module == 0)
      heaps.push_back({section.begin, section.end});
  return heaps;
}

CompileHook::Code code_at(Session& session, Address address) {
  if (session.runtime().absence() != nullptr) return CompileHook::Code::none;
  const CodeLookup found = session.runtime().code()->find(address);
  const auto* block = std::get_if<CodeBlock>(&found);
  if (block == nullptr || block->start != address) return CompileHook::Code::none;
  return block->kind == CodeKind::jitted ? CompileHook::Code::jitted : CompileHook::Code::ready_to_run;
}

std::vector<std::string> files_of(Session& session, const Method& method) {
  std::vector<std::string> files;
  SourceLines* lines = session.runtime().lines();
  const PortablePdb* pdb = lines != nullptr ? lines->pdb_of(method.runtime_module) : nullptr;
  if (pdb == nullptr || method.token == 0) return files;
  std::uint32_t last = 0;
  for (const SequencePoint& point : pdb->sequence_points(method.token)) {
    if (point.document == last || point.document == 0) continue;
    last = point.document;
    files.push_back(pdb->document_name(last));
  }
  return files;
}
} // namespace

ManagedBreakpoints::Entry& ManagedBreakpoints::entry_of(lldb::SBTarget& target) {
  std::erase_if(entries_, [](const std::unique_ptr<Entry>& entry) { return !entry->target.IsValid(); });
  lldb::SBProcess process = target.GetProcess();
  const bool alive = process.IsValid() && process.GetState() != lldb::eStateExited &&
                     process.GetState() != lldb::eStateDetached;
  const std::uint32_t id = alive ? process.GetUniqueID() : 0;
  for (const auto& entry : entries_) {
    if (!(entry->target == target)) continue;
    if (entry->process != 0 && entry->process != id) {
      // Another process: its libraries may lie elsewhere, its pages are as they were made.
      entry->hook.reset();
      entry->handlers.reset();
      entry->pages = std::make_unique<CodePages>(target);
      entry->told = entry->told_failure = false;
    }
    entry->process = id;
    return *entry;
  }
  auto made = std::make_unique<Entry>();
  made->target = target;
  made->process = id;
  made->pages = std::make_unique<CodePages>(target);
  entries_.push_back(std::move(made));
  return *entries_.back();
}

std::unique_ptr<CompileHook> ManagedBreakpoints::make_hook(lldb::SBTarget target) {
  // Of the same process a session that only drops what it has read of the code's whereabouts will do: this
  // happens for every method.
  auto session = [this, target]() mutable {
    lldb::SBDebugger debugger = target.GetDebugger();
    return sessions_->after_short_run(debugger, target);
  };
  CompileHook::Client client;
  client.compile_method = [session, target]() mutable -> lldb::addr_t {
    if (!has_process(target)) return 0;
    return find_compile_method(target, *session());
  };
  client.code_at = [session](lldb::addr_t address) mutable { return code_at(*session(), address); };
  client.ready = [this, target](lldb::SBThread& thread, lldb::addr_t start) mutable {
    code_ready(target, thread, start);
  };
  client.turn = [sessions = sessions_] { return sessions->try_turn(); };
  return std::make_unique<CompileHook>(target, std::move(client));
}

void ManagedBreakpoints::arm(Entry& entry) {
  if (!publishing_->settings().on || is_core_file(entry.target)) return;
  if (!entry.hook) entry.hook = make_hook(entry.target);
  entry.hook->arm();
}

bool ManagedBreakpoints::is_managed(Entry& entry, lldb::SBBreakpoint& breakpoint,
                                    const BreakpointWish& wish) {
  if (entry.ours.contains(breakpoint.GetID())) return true;
  if (wish.kind == BreakpointWish::Kind::address) return false;
  if (wish.kind == BreakpointWish::Kind::line && is_native_source(wish.file)) return false;
  const std::size_t locations = std::min(breakpoint.GetNumLocations(), max_locations);
  if (locations == 0) return true; // may come to be one
  const Publisher* publisher = publishing_->of(entry.target);
  if (publisher == nullptr) return false;
  for (std::size_t i = 0; i < locations; ++i)
    if (publisher->holds(breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(i)).GetLoadAddress()))
      return true;
  return false;
}

bool ManagedBreakpoints::is_managed(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint) {
  return is_managed(entry_of(target), breakpoint, wish_of(breakpoint));
}

void ManagedBreakpoints::collect_wishes(Entry& entry) {
  entry.wishes.clear();
  entry.waiting = false;
  for (std::uint32_t i = 0; i < entry.target.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = entry.target.GetBreakpointAtIndex(i);
    if (is_hidden(breakpoint) || !breakpoint.IsEnabled()) continue;
    BreakpointWish wish = wish_of(breakpoint);
    if (!is_managed(entry, breakpoint, wish)) continue;
    entry.wishes.push_back(std::move(wish));
    entry.waiting = entry.waiting || breakpoint.GetNumLocations() == 0;
  }
}

// LLDB sets a breakpoint on the next line that it knows. Where the symbols have code on the very line that is
// not compiled yet (a lambda's), that is the wrong place: the breakpoint waits instead.
void ManagedBreakpoints::drop_wrong_lines(Entry& entry, Session& session) {
  const Publisher* publisher = publishing_->of(entry.target);
  if (publisher == nullptr || session.runtime().absence() != nullptr) return;
  for (std::uint32_t i = 0; i < entry.target.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = entry.target.GetBreakpointAtIndex(i);
    const std::size_t locations = std::min(breakpoint.GetNumLocations(), max_locations);
    if (locations == 0 || is_hidden(breakpoint)) continue;
    LineCheck& check = entry.lines[breakpoint.GetID()];
    if (check.locations == locations) continue;
    const BreakpointWish wish = wish_of(breakpoint);
    const std::size_t first = std::exchange(check.locations, locations);
    if (wish.kind != BreakpointWish::Kind::line || is_native_source(wish.file)) continue;
    check.line = methods_at_line(session.runtime(), file_name_of(wish.file), wish.line, {}).line;
    if (check.line == 0) continue;
    for (std::size_t k = std::min(first, locations); k < locations; ++k) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k));
      lldb::SBAddress address = location.GetAddress();
      if (!publisher->holds(location.GetLoadAddress())) continue;
      if (address.GetLineEntry().GetLine() != check.line) location.SetEnabled(false);
    }
  }
}

void ManagedBreakpoints::plant_pending(Entry& entry) {
  const Publisher* publisher = publishing_->of(entry.target);
  if (publisher == nullptr || !has_process(entry.target) || is_core_file(entry.target)) return;
  std::vector<CodeSpan> spans;
  std::vector<lldb::SBBreakpointLocation> waiting;
  for (std::uint32_t i = 0; i < entry.target.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = entry.target.GetBreakpointAtIndex(i);
    if (!breakpoint.IsEnabled()) continue;
    const std::size_t locations = std::min(breakpoint.GetNumLocations(), max_locations);
    for (std::size_t k = 0; k < locations; ++k) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(k));
      if (location.IsResolved() || !location.IsEnabled()) continue;
      const Address at = location.GetLoadAddress();
      if (!publisher->holds(at)) continue;
      spans.push_back({at, at + 1});
      waiting.push_back(location);
    }
  }
  if (waiting.empty()) return;
  if (!make_writable(entry, spans, entry.target.GetProcess().GetSelectedThread())) return;
  for (lldb::SBBreakpointLocation& location : waiting) {
    location.SetEnabled(false);
    location.SetEnabled(true);
  }
}

void ManagedBreakpoints::refresh(lldb::SBTarget& target) {
  Entry& entry = entry_of(target);
  if (has_process(target) && !is_core_file(target) && publishing_->of(target) != nullptr) {
    lldb::SBDebugger debugger = target.GetDebugger();
    drop_wrong_lines(entry, *sessions_->after_short_run(debugger, target));
  }
  plant_pending(entry);
  collect_wishes(entry);
  if (!entry.wishes.empty())
    arm(entry);
  else if (entry.hook)
    entry.hook->disarm();
}

void ManagedBreakpoints::add(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint) {
  entry_of(target).ours.insert(breakpoint.GetID());
  refresh(target);
}

ManagedBreakpoints::HookState ManagedBreakpoints::hook_state(lldb::SBTarget& target) {
  const Entry& entry = entry_of(target);
  if (!entry.hook) return {};
  return {.armed = entry.hook->armed(),
          .learned = entry.hook->learned(),
          .compilations = entry.hook->hits(),
          .milliseconds = entry.hook->milliseconds()};
}

bool ManagedBreakpoints::make_writable(Entry& entry, const std::vector<CodeSpan>& spans,
                                       lldb::SBThread thread) {
  const CodePages::Outcome outcome = entry.pages->make_writable(spans, std::move(thread));
  if (!outcome.problem.empty() && !outcome.passing && !entry.told_failure) {
    entry.told_failure = true;
    notice(entry.target.GetDebugger(),
           fmt::format("breakpoints and steps in jitted code are not possible: its pages are not writable "
                       "(W^X) and {}; {}",
                       outcome.problem, CodePages::advice));
  }
  if (outcome.spans != 0 && !entry.told) {
    entry.told = true;
    notice(entry.target.GetDebugger(),
           "pages of jitted code were made writable for breakpoints, by a call of mprotect in the process "
           "(W^X is on)");
  }
  return outcome.problem.empty();
}

bool ManagedBreakpoints::prepare_step(lldb::SBTarget& target) {
  Entry& entry = entry_of(target);
  if (!has_process(target) || is_core_file(target) || !publishing_->settings().on) return false;
  lldb::SBDebugger debugger = target.GetDebugger();
  const std::shared_ptr<Session> session = sessions_->of(debugger, target);
  if (session->runtime().absence() != nullptr) return false;
  lldb::SBThread thread = target.GetProcess().GetSelectedThread();
  // Only a step that begins in managed code or ends in it writes there.
  constexpr std::uint32_t looked_at = 3;
  bool managed = false;
  for (std::uint32_t i = 0; i < looked_at && !managed; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid()) break;
    managed = std::holds_alternative<CodeBlock>(session->runtime().code()->find(frame.GetPC()));
  }
  if (!managed) return false;
  publishing_->before_step(target, *session);
  make_writable(entry, code_heaps(*session), thread);
  return true;
}

void ManagedBreakpoints::stop_in_handlers(Entry& entry, bool out) {
  if (!entry.handlers) entry.handlers = std::make_unique<HandlerStops>(entry.target);
  lldb::SBDebugger debugger = entry.target.GetDebugger();
  try {
    entry.handlers->arm(*sessions_->of(debugger, entry.target), entry.target.GetProcess().GetSelectedThread(),
                        out);
  } catch (const Error&) {
    // The step goes as LLDB's own do.
  }
}

void ManagedBreakpoints::follow_exceptions(lldb::SBTarget& target) {
  Entry& entry = entry_of(target);
  entry.following = true;
  stop_in_handlers(entry, false);
}

void ManagedBreakpoints::end_following(lldb::SBTarget& target) {
  Entry& entry = entry_of(target);
  entry.following = false;
  if (entry.handlers) entry.handlers->end_step();
}

void ManagedBreakpoints::before_set(Entry& entry, const BreakpointWish& wish) {
  const Publisher* publisher = publishing_->of(entry.target);
  const std::vector<Address> places = places_of(entry.target, wish);
  std::vector<CodeSpan> spans;
  for (const Address at : places)
    if (publisher != nullptr && publisher->holds(at)) spans.push_back({at, at + 1});
  if (!spans.empty() && has_process(entry.target) && !is_core_file(entry.target))
    make_writable(entry, spans, entry.target.GetProcess().GetSelectedThread());
  const bool native = wish.kind == BreakpointWish::Kind::address || (!places.empty() && spans.empty()) ||
                      (wish.kind == BreakpointWish::Kind::line && is_native_source(wish.file));
  if (native) return;
  collect_wishes(entry);
  entry.wishes.push_back(wish);
  entry.waiting = entry.waiting || places.empty();
  arm(entry);
}

void ManagedBreakpoints::before_command(lldb::SBTarget& target, const char** words) {
  std::vector<std::string_view> all;
  for (; words != nullptr && *words != nullptr; ++words) all.emplace_back(*words);
  if (all.size() < 2) return;
  try {
    // What the step before left.
    const bool runs = all[1].starts_with("step-") || all[1] == "until" || all[1] == "continue" ||
                      all[1] == "launch" || all[1] == "attach";
    if (Entry& entry = entry_of(target); runs && entry.handlers) entry.handlers->disarm();
    if (all[0] == "breakpoint" && all[1] == "set") {
      before_set(entry_of(target), wish_of_arguments(std::span(all).subspan(2)));
    } else if (all[0] == "thread" && (all[1].starts_with("step-") || all[1] == "until")) {
      refresh(target);
      const bool by_line = all[1] == "step-in" || all[1] == "step-over" || all[1] == "step-out";
      if (prepare_step(target) && by_line) stop_in_handlers(entry_of(target), all[1] == "step-out");
    } else if (all[0] == "thread" && all[1] == "continue") {
      refresh(target);
    } else if (all[0] == "process" && (all[1] == "continue" || all[1] == "launch" || all[1] == "attach")) {
      refresh(target);
    }
  } catch (const std::exception&) {
    // LLDB's command goes on without; what is missing shows as an unresolved location.
  }
}

bool ManagedBreakpoints::at_stop(lldb::SBTarget& target) {
  if (!has_process(target) || is_core_file(target)) return false;
  try {
    Entry& entry = entry_of(target);
    const auto is_hook = [&](lldb::addr_t pc) { return entry.hook && entry.hook->was_at(pc); };
    if (nobody_asked_to_stop(target, is_hook) || goes_on(target)) return true;
    if (entry.handlers && entry.handlers->goes_on(target.GetProcess().GetSelectedThread())) return true;
    select_asked_stop(target);
    if (entry.hook) entry.hook->tidy();
    if (entry.handlers && !entry.following) entry.handlers->end_step();
    refresh(target);
  } catch (const std::exception&) {
    // The stop is the user's.
  }
  return false;
}

// A signal that is no stop to the user.
bool ManagedBreakpoints::goes_on(lldb::SBTarget& target) {
  lldb::SBThread at_signal = thread_at_lone_signal(target);
  if (!at_signal.IsValid()) return false;
  lldb::SBDebugger debugger = target.GetDebugger();
  const std::shared_ptr<Session> session = sessions_->of(debugger, target);
  const auto exception = exception_of_signal(*session, at_signal);
  if (!exception) return false;
  notice(debugger, fmt::format("the signal in managed code becomes a {}; the process goes on", *exception));
  return true;
}

bool ManagedBreakpoints::concerns_anyone(Entry& entry, Session& session, const Method& method) {
  if (entry.wishes.empty()) return false;
  std::vector<std::string> files;
  const bool by_line = std::ranges::any_of(
      entry.wishes, [](const BreakpointWish& wish) { return wish.kind == BreakpointWish::Kind::line; });
  if (by_line) files = files_of(session, method);
  return std::ranges::any_of(entry.wishes,
                             [&](const BreakpointWish& wish) { return may_concern(wish, method, files); });
}

// Code of an image that was loaded since the last look is there without being compiled.
void ManagedBreakpoints::publish_new_images(Entry& entry, Runtime& runtime) {
  if (!entry.waiting || !publishing_->settings().r2r) return;
  const auto images = static_cast<std::size_t>(std::ranges::count_if(
      runtime.code()->sections(), [](const RangeSection& section) { return section.r2r_module != 0; }));
  if (std::exchange(entry.images, images) == images) return;
  publishing_->update(entry.target);
  plant_pending(entry);
}

void ManagedBreakpoints::code_ready(lldb::SBTarget& target, lldb::SBThread& thread, Address start) {
  Entry& entry = entry_of(target);
  lldb::SBDebugger debugger = target.GetDebugger();
  const std::shared_ptr<Session> session = sessions_->after_short_run(debugger, target);
  if (session->runtime().absence() != nullptr) return;
  publish_compiled(entry, *session, thread, start);
  publish_new_images(entry, session->runtime());
}

void ManagedBreakpoints::publish_compiled(Entry& entry, Session& session, lldb::SBThread& thread,
                                          Address start) {
  Runtime& runtime = session.runtime();
  const CodeLookup found = runtime.code()->find(start);
  const auto* block = std::get_if<CodeBlock>(&found);
  if (block == nullptr) return;
  const Method method = runtime.describe(block->method_desc);
  // The runtime uses the MethodDesc of a dynamic method again for another one.
  if (method.kind == MethodKind::dynamic || !concerns_anyone(entry, session, method)) return;
  const MethodRegions regions = runtime.code()->regions(*block);
  // Before LLDB learns of the code: it plants the breakpoints in it at once.
  make_writable(entry, {{regions.hot_start, regions.hot_start + regions.hot_size}}, thread);
  publishing_->add(entry.target, session, start);
  drop_wrong_lines(entry, session);
}

} // namespace clr::lldb_plugin
