#include "extension/process/visits.h"

#include "extension/breakpoints/managed_steps.h"
#include "extension/lldb/api_lock.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/fresh_frames.h"
#include "extension/lldb/passed_instruction.h"
#include "extension/lldb/published_module.h"
#include "extension/process/assignments.h"
#include "extension/process/csharp_commands.h"
#include "extension/process/printed_objects.h"
#include "extension/process/workspace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace clr::lldb_plugin {

bool attaches(lldb::SBTarget& target) {
  constexpr std::uint32_t first_stop = 1;
  return is_stopped_process(target) && target.GetProcess().GetStopID() <= first_stop;
}

namespace {
// LLDB's commands that show or use what is published. Their aliases (bt, b, up) end in these.
constexpr const char* commands[] = {
    "thread backtrace",
    "thread list",
    "thread select",
    "thread info",
    "thread until",
    "thread step-in",
    "thread step-out",
    "thread step-over",
    "thread return",
    "thread continue",
    "frame info",
    "frame select",
    "frame variable",
    "frame diagnose",
    "disassemble",
    "target modules lookup",
    "target modules list",
    "target modules show-unwind",
    "target symbols add",
    "target variable",
    "source list",
    "source info",
    "breakpoint set",
    "breakpoint list",
    "process status",
    "process continue",
    "process launch",
    "process attach",
    "process detach",
    "process save-core",
    "register read",
    "register write",
    "memory read",
    "memory find",
    "type lookup",
    "watchpoint list",
    "watchpoint set expression",
    "thread exception",
    "thread siginfo",
    "thread jump",
    "watchpoint set variable",
    "thread plan list",
    "gui",
    "script",
    "scripting run",
    "command script import",
    "command script add",
    "frame recognizer info",
    "target modules dump symtab",
    "target modules dump symfile",
    "target modules dump line-table",
    "target modules dump sections",
    "target modules dump objfile",
    "target modules dump ast",
    "quit",
};

// Null, which the user is told, when the process is not known.
std::shared_ptr<DebuggedProcess> find(const Turn& turn, lldb::SBProcess& process, Way way) {
  std::shared_ptr<DebuggedProcess> found = Workspace::of(turn).find(process.GetTarget());
  if (!found) turn.door().failed(way, "the plugin does not know the process that it is of");
  return found;
}

// Of a hit: the process goes on unless it `stops`. `of`: null when it is not known.
bool judged(lldb::SBProcess& process, DebuggedProcess* of, bool stops) {
  if (of != nullptr) {
    // Not before it is known that the process stops: LLDB may handle an earlier event only now, and would
    // look at the thread that steps.
    if (stops)
      of->selection().restore(process);
    else
      of->selection().move(process, of->breakpoints().steps().may_be_of());
  }
  if (stops) return true;
  read_ahead(process);
  return false;
}

// The first of a hit.
std::shared_ptr<DebuggedProcess> come_to(const Turn& turn, lldb::SBProcess& process, lldb::SBThread& thread,
                                         const HitPlace& place, Way way) {
  refresh_frames(thread, place.address);
  return find(turn, process, way);
}

bool visit_compilation(const Turn& turn, lldb::SBProcess& process, lldb::SBThread& thread,
                       const HitPlace& place) {
  const auto found = come_to(turn, process, thread, place, Way::compile_hook);
  if (found) {
    found->publishing().keep_gone(true);
    found->breakpoints().at_compilation(thread);
  }
  pass_instruction(thread, place.address);
  return judged(process, found.get(), false);
}

bool visit_handler(const Turn& turn, lldb::SBProcess& process, lldb::SBThread& thread,
                   const HitPlace& place) {
  const auto found = come_to(turn, process, thread, place, Way::handler_stop);
  if (!found) return judged(process, nullptr, false);
  found->publishing().keep_gone(true);
  return judged(process, found.get(), found->breakpoints().stops_in_handler(thread));
}

bool visit_throw(const Turn& turn, lldb::SBProcess& process, lldb::SBThread& thread, const HitPlace& place) {
  const auto found = come_to(turn, process, thread, place, Way::handler_stop);
  return judged(process, found.get(),
                !found || found->breakpoints().throws().stops(thread, place.breakpoint));
}

bool is_launch(const char** words) {
  return words[1] != nullptr && words[0] == std::string_view("process") &&
         words[1] == std::string_view("launch");
}

// LLDB takes the first module of a target for its program. In a core without files that is one of ours, and
// LLDB would end the core before it finds that it is no program.
bool launches_no_program(lldb::SBTarget& target) {
  lldb::SBModule first = target.GetModuleAtIndex(0);
  return !first.IsValid() || is_published(first);
}

// The words of a command with spaces between them. LLDB hands out a command with an expression as one word.
std::string text_of(const char** words) {
  std::string text;
  for (; *words != nullptr; ++words) text += (text.empty() ? "" : " ") + std::string(*words);
  return text;
}

// Those that let the process run or write to its memory, and show nothing that is published: scripts may look
// at values where it stops.
constexpr const char* other_commands[] = {"memory write", "thread step-inst", "thread step-inst-over",
                                          "thread step-scripted", "process signal"};

bool begins(const std::string& text, std::span<const std::string_view> any) {
  return std::ranges::any_of(any, [&](std::string_view command) {
    return text.starts_with(command) && (text.size() == command.size() || text[command.size()] == ' ');
  });
}

// Before a command that shows values, or that runs what may look at some.
void prepare_values(const Turn& turn, lldb::SBDebugger& debugger, DebuggedProcess& process,
                    std::string text) {
  static constexpr std::array<std::string_view, 4> with_names{"expression", "dwim-print", "target variable",
                                                              "watchpoint set expression"};
  static constexpr std::array<std::string_view, 7> others{
      "frame variable", "frame diagnose", "script", "scripting run", "command script", "watchpoint", "gui"};
  const bool names = begins(text, with_names);
  if (!names && !begins(text, others)) return;
  Workspace::of(turn).offer_parts(debugger, process);
  if (!names || process.publishing().status().modules == 0) return;
  std::erase(text, '\\'); // of a regular expression
  process.describe_types(text);
}

// LLDB lets the processes go that it was attached to.
void leave_all(const Turn& turn, lldb::SBDebugger& debugger) {
  for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i)
    if (const auto process = Workspace::of(turn).find(debugger.GetTargetAtIndex(i)))
      process->breakpoints().leave_process();
}

// Before any command.
void prepare_looks(const Turn& turn, lldb::SBDebugger& debugger, const std::string& text) {
  static constexpr std::array<std::string_view, 7> of_frames{
      "thread backtrace", "thread list",  "thread info",   "thread select",
      "frame info",       "frame select", "process status"};
  static constexpr std::array<std::string_view, 1> of_scripts{"command script"};
  Workspace& workspace = Workspace::of(turn);
  if (begins(text, of_scripts)) workspace.commands_added();
  workspace.choose_parts(debugger, begins(text, of_frames));
}

void set_writer(DebuggedProcess& process, bool command) {
  process.sessions().set_writer(Workspace::serves_client() ? Writer::client
                                : command                  ? Writer::command
                                                           : Writer::none);
}

bool is_writer(const std::string& text) {
  static constexpr std::array<std::string_view, 6> writers{"expression",    "dwim-print",     "script",
                                                           "scripting run", "command script", "gui"};
  return begins(text, writers);
}

// Before a command that shows nothing which is published.
void visit_other(const Turn& turn, lldb::SBDebugger& debugger, const char** words) {
  prepare_looks(turn, debugger, text_of(words));
  if (const auto process = Workspace::of(turn).find(debugger.GetSelectedTarget())) set_writer(*process, true);
}

void visit_command(const Turn& turn, lldb::SBDebugger& debugger, const char** words) {
  if (words[0] == std::string_view("quit")) return leave_all(turn, debugger);
  const std::string text = text_of(words);
  prepare_looks(turn, debugger, text);
  lldb::SBTarget target = debugger.GetSelectedTarget();
  if (!target.IsValid()) return;
  const std::shared_ptr<DebuggedProcess> process = Workspace::of(turn).process(target);
  set_writer(*process, is_writer(text));
  if (is_launch(words)) {
    if (launches_no_program(target)) {
      process->types().withdraw();
      return process->publishing().withdraw();
    }
    // The first stop may be a signal that managed code makes an exception of.
    process->publishing().follow_stops();
  }
  Workspace::of(turn).publish_command(*process, words);
  process->breakpoints().before_command(words);
  if (text.starts_with("thread backtrace")) Workspace::of(turn).show_async_frames(debugger, *process);
  prepare_values(turn, debugger, *process, text);
}

// Waits until LLDB has attached, and lets the plugin do what it could not do before. LLDB attaches with its
// lock held: whoever waits for that gets it next, and the client waits with its first question until this is
// done. lldb-dap 19 runs code in the process for each stack that it is asked for, without the lock: both at
// the same time led to a deadlock, or to the end of the process by a SIGSEGV.
void finish_attach(lldb::user_id_t debugger, lldb::SBTarget target, ApiLock lock) {
  constexpr std::chrono::milliseconds pause(1);
  constexpr std::chrono::seconds most(10);
  const auto end = std::chrono::steady_clock::now() + most;
  bool done = false;
  const auto finish = [&] {
    if (life_of(target) == ProcessLife::not_yet) return;
    done = true;
    const std::shared_ptr<Door> door = doors().find(debugger);
    if (!door) return;
    door->pass(Way::stop_hook, false, [&](const Turn& turn) {
      const std::shared_ptr<DebuggedProcess> process = Workspace::of(turn).find(target);
      if (process && attaches(target)) process->breakpoints().expect_breakpoints();
      return true;
    });
  };
  while (!done && std::chrono::steady_clock::now() < end) {
    if (!lock.hold(finish) && !done) finish();
    if (!done) std::this_thread::sleep_for(pause);
  }
}

void expect_at_attach(lldb::SBDebugger& debugger, lldb::SBTarget target, DebuggedProcess& process) {
  process.breakpoints().expect_breakpoints();
  if (process.expects_attach()) return;
  std::thread(finish_attach, debugger.GetID(), target, ApiLock(target)).detach();
}

// The commands that evaluate an expression.
bool stand_in_for_expression(const Turn& turn, lldb::SBDebugger& debugger, const char** words) {
  visit_command(turn, debugger, words);
  const std::string command = text_of(words);
  if (assign_reference(debugger, command) || print_object(debugger, command) ||
      print_object_of_core(debugger, command))
    return true;
  const auto process = Workspace::of(turn).find(debugger.GetSelectedTarget());
  return process &&
         evaluate_csharp(debugger, command, [&](std::string_view text) { process->describe_types(text); });
}
} // namespace

OwnEntries own_entries() {
  // A step whose handler cannot be judged stops there: it must not run away.
  return {.compile_hook = hit_entry<Way::compile_hook, visit_compilation, false>(),
          .handler_stop = hit_entry<Way::handler_stop, visit_handler, true>(),
          .throw_stop = hit_entry<Way::handler_stop, visit_throw, true>()};
}

void follow_commands(lldb::SBDebugger& debugger) {
  call_before<visit_command>(debugger, commands);
  call_before<visit_other>(debugger, other_commands);
  for (const char* const command : {"dwim-print", "expression"})
    call_instead<stand_in_for_expression>(debugger, command);
}

bool visit_stop(const Turn& turn, lldb::SBDebugger& debugger, lldb::SBTarget target, bool hook) {
  return turn.door().pass(Way::stop_hook, false, [&](const Turn& inner) {
    Workspace& workspace = Workspace::of(inner);
    lldb::SBProcess stopped = target.GetProcess();
    const std::uint32_t stop = is_stopped_process(target) ? stopped.GetStopID() : 0;
    std::shared_ptr<DebuggedProcess> process;
    if (target.IsValid()) process = workspace.process(target);
    if (hook && process && stop != 0 && process->visited(stop)) return false;
    if (stop != 0) refresh_frames(stopped);
    if (process) {
      process->selection().restore(stopped);
      process->publishing().keep_gone(true);
    }
    workspace.publish_stop(debugger);
    if (!process) return false;
    ManagedBreakpoints& breakpoints = process->breakpoints();
    // LLDB 21 and later call while they attach.
    std::optional<ManagedBreakpoints::Attaching> attaching;
    if (attaches(target)) attaching.emplace(breakpoints);
    if (breakpoints.at_stop(Workspace::serves_client())) {
      process->selection().move(stopped, breakpoints.steps().may_be_of());
      return true;
    }
    process->publishing().keep_gone(false);
    workspace.publish_types_of_stop(debugger);
    process->tell_what_is_missing();
    // Nobody tells when a client of the API is about to step, or sets breakpoints.
    if (attaching && Workspace::serves_client()) {
      expect_at_attach(debugger, target, *process);
    } else if (Workspace::serves_client()) {
      breakpoints.expect_step();
      breakpoints.expect_breakpoints();
    }
    process->visit(stop);
    return false;
  });
}

void visit_attach(const Turn& turn, lldb::SBDebugger& debugger) {
  Workspace& workspace = Workspace::of(turn);
  lldb::SBTarget target = debugger.GetSelectedTarget();
  const std::shared_ptr<DebuggedProcess> process = workspace.process(target);
  const ManagedBreakpoints::Attaching attaching(process->breakpoints());
  workspace.publish_stop(debugger);
  workspace.publish_types_of_stop(debugger);
  expect_at_attach(debugger, target, *process);
  process->sessions().drop(); // more modules follow
}

} // namespace clr::lldb_plugin
