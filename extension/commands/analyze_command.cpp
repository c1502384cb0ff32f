// clr analyze: what happened to this process, on one page.
#include "core/report/analysis_json.h"
#include "core/report/fail_fast.h"
#include "core/report/trouble_report.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/exception_text.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/stack_text.h"
#include "extension/commands/threads.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/frame_numbers.h"
#include "extension/lldb/short_run.h"
#include "extension/session/chosen_thread.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <chrono>
#include <memory>

namespace clr::lldb_plugin {

namespace {

class Analyze final : public CommandRun {
public:
  explicit Analyze(CLI::App& app) {
    add_count(app, "-n,--count", limit_, {1, max_frames},
              "Show at most N frames of the stack. JSON has no stack.");
    app.add_option("-a,--again", again_,
                   "Let the process run for so many seconds, stop it again, and tell whether what waited has "
                   "moved: that tells a hang from a wait. Not for cores.")
        ->type_name("SECONDS");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    const double seconds = again_.empty() ? 0 : parse_seconds(again_);
    std::optional<SecondLook> look;
    if (!again_.empty()) look = look_again(invocation, std::chrono::duration<double>(seconds));
    Session& session = invocation.session();
    Output& out = invocation.out;
    lldb::SBProcess process = session.target().GetProcess();
    const ChosenThread found = choose_thread(session, process);
    lldb::SBThread thread = found.thread;
    std::optional<TroubleReport> trouble = trouble_of(session, found, out);
    if (look && trouble && trouble->mark) {
      look->change = compare(*first_, *trouble->mark);
      add(*look, *trouble);
    } else {
      look.reset();
      if (!again_.empty()) out.warning(why_not_again(first_.has_value(), trouble.has_value()));
    }
    if (json_) {
      Json json = analysis_json(trouble ? &*trouble : nullptr, session.runtime(), described(process, found),
                                session.memory_report());
      if (look) json["again"] = to_json(*look);
      out.line("{}", dump(json));
      return;
    }
    if (trouble) out.line("verdict:   {}", verdict_text(*trouble));
    if (look) out.line("again:     {}", text_of(*look));
    print_process(out, session, process);
    if (trouble && !trouble->evidence.empty()) {
      out.line("evidence:");
      for (const std::string& text : trouble->evidence) out.line("  {}", text);
    }
    if (!thread.IsValid()) {
      out.line("thread:    none is known");
    } else {
      out.line("thread:    {} ({})", thread_header(thread), found.why);
      print_exception(out, session, thread);
      print_stack(out, session, thread);
    }
    print_missing(out, session, trouble ? trouble->missing : std::vector<std::string>());
  }

private:
  static double parse_seconds(const std::string& text) {
    constexpr double least = 0.1, most = 3'600;
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds >= least && seconds <= most))
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--again takes seconds from {} to {}, not '{}'", least, most, text));
    return seconds;
  }

  // Why nothing of two stops is told though --again was given.
  static std::string_view why_not_again(bool ran, bool runtime) {
    if (ran) return "--again: it failed meanwhile; there is nothing to compare";
    return runtime ? "--again: it failed already, so it was not let run"
                   : "--again: it has no runtime, so it was not let run";
  }

  static std::optional<TroubleReport> trouble_of(Session& session, const ChosenThread& found, Output& out) {
    if (session.runtime().absence() != nullptr) return std::nullopt;
    std::unique_ptr<AsyncReporter> async;
    TroubleSources sources{.locks = session.locks(),
                           .stacks = session.stacks(),
                           .heap = [&]() -> HeapReporter& { return session.heap(); },
                           .async = [&]() -> AsyncReporter& {
                             if (!async) {
                               async = std::make_unique<AsyncReporter>(session.waits());
                               async->set_threads(session.thread_tops());
                               async->set_stacks(session.stacks());
                             }
                             return *async;
                           },
                           .program_name = session.program_name()};
    return find_trouble(sources, found.crash(session), walk_options(out));
  }

  // Notes where everything stands, and lets the process run. Nothing when it failed already, or has no
  // runtime yet: then one stop tells all.
  std::optional<SecondLook> look_again(Invocation& invocation, std::chrono::duration<double> time) {
    lldb::SBTarget target = invocation.debugger.GetSelectedTarget();
    lldb::SBProcess process = target.GetProcess();
    {
      Session& session = invocation.session();
      if (is_core(process))
        throw Error(ErrorKind::invalid_argument,
                    "a core does not run: --again compares two stops of a live process");
      const std::optional<TroubleReport> trouble =
          trouble_of(session, choose_thread(session, process), invocation.out);
      if (!trouble || !trouble->mark) return std::nullopt;
      first_ = trouble->mark;
    }
    const std::shared_ptr<DebuggedProcess> kept = invocation.process(target);
    kept->publishing().update();
    const auto ran = run_for(invocation.debugger, process, time);
    invocation.workspace().publish_all(invocation.debugger);
    if (process.GetState() != lldb::eStateStopped)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("the process did not stand after {:.1f} s: it is {}", ran.count(),
                              lldb::SBDebugger::StateAsCString(process.GetState())));
    if (invocation.out.interrupted())
      throw Error(ErrorKind::interrupted,
                  fmt::format("the process ran for {:.1f} of {:.1f} s and stands: nothing was compared",
                              ran.count(), time.count()));
    return SecondLook{.seconds = ran.count(), .change = {}};
  }

  static void print_process(Output& out, Session& session, lldb::SBProcess& process) {
    const MemoryReport memory = session.memory_report();
    out.line("process:   {}, {} threads, {}", process.GetProcessID(), process.GetNumThreads(), memory.source);
    if (session.runtime().absence() != nullptr) {
      out.line("runtime:   {}", absence_text(session.runtime()));
      return;
    }
    const RuntimeInfo info = session.runtime().summary();
    out.line("runtime:   {} {} ({} {}) in {}", info.name,
             info.version.empty() ? "of unknown version" : info.version, info.os, info.cpu, info.found_in);
  }

  static void print_exception(Output& out, Session& session, lldb::SBThread& thread) {
    if (session.runtime().absence() != nullptr) return;
    const RuntimeThread* known = session.stacks().thread_of(thread.GetThreadID());
    if (known == nullptr) {
      out.line("exception: the runtime does not know this thread");
      return;
    }
    if (const auto message = fail_fast_message(session.runtime(), session.stacks(), session.registers(thread),
                                               thread.GetThreadID()))
      out.line("fail fast: {}", *message);
    ExceptionReporter reporter = exceptions_of(session);
    const ExceptionReporter::OfThread found = reporter.of_thread(*known);
    if (!found.problem.empty()) out.line("exception: {}", found.problem);
    if (found.current() == 0) {
      out.line("exception: none");
      return;
    }
    out.line("exception: {}",
             found.in_flight.empty() ? "none in flight; the last one that was thrown:" : "in flight:");
    for (const Address object : found.in_flight.empty() ? std::vector{found.last_thrown} : found.in_flight)
      try {
        out.write(describe(reporter.tree(object)));
      } catch (const std::exception& error) {
        out.line("  {:#x}: {}", object, error.what());
      }
  }

  void print_stack(Output& out, Session& session, lldb::SBThread& thread) const {
    out.line("stack:");
    std::vector<FrameRow> rows;
    FrameNumbers numbers(session.target());
    const StackReporter::End end = walk_stack(
        session, thread, {.max_frames = limit_, .runtime_frames = false}, [&](const FrameRow& row) {
          rows.push_back(row);
          rows.back().index = numbers.next(row);
          return !out.interrupted();
        });
    const std::size_t left_out = print_frames(out, rows, std::nullopt);
    print_end(out, end, limit_);
    print_left_out(out, left_out);
  }

  static AnalyzedProcess described(lldb::SBProcess& process, const ChosenThread& found) {
    AnalyzedProcess of{.id = process.GetProcessID(), .threads = process.GetNumThreads(), .why = found.why};
    lldb::SBThread thread = found.thread;
    if (thread.IsValid()) {
      of.thread = thread.GetIndexID();
      of.os_id = thread.GetThreadID();
    }
    return of;
  }

  static void print_missing(Output& out, Session& session, const std::vector<std::string>& more) {
    const MemoryReport memory = session.memory_report();
    bool whole = true;
    const auto tell = [&](const std::string& text) {
      if (whole) out.line("missing or doubtful:");
      whole = false;
      out.line("  {}", text);
    };
    for (const std::string& note : memory.notes) tell(note);
    for (const std::string& file : memory.refusals) tell(file);
    for (const std::string& text : more) tell(text);
    const std::string& threads = session.stacks().threads().problem;
    if (!threads.empty()) tell(fmt::format("the list of threads: {}", threads));
    if (whole) out.line("missing:   nothing that was asked for");
  }

  std::size_t limit_ = max_frames;
  std::string again_;
  std::optional<StopMark> first_; // of the first stop, with --again
  bool json_ = false;
};

} // namespace

CommandSpec analyze_command() {
  return {
      "analyze",
      nullptr,
      "Tell what is the matter: a crash, a deadlock, waiting, busy; the evidence; the thread that failed, "
      "its exception, its stack, and what is missing.",
      "clr analyze -n 20",
      "tells what happened, with 20 frames of the stack at most.",
      [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Analyze>(app); }};
}

} // namespace clr::lldb_plugin
