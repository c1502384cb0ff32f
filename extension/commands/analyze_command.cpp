// clr analyze: what happened to this process, on one page.
#include "core/report/fail_fast.h"
#include "core/report/trouble_report.h"
#include "core/runtime/presence.h"
#include "extension/commands/chosen_thread.h"
#include "extension/commands/command.h"
#include "extension/commands/exception_text.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/stack_text.h"
#include "extension/commands/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Analyze final : public CommandRun {
public:
  explicit Analyze(CLI::App& app) {
    add_count(app, "-n,--count", limit_, {1, max_frames}, "Show at most N frames of the stack.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    lldb::SBProcess process = session.target().GetProcess();
    const ChosenThread found = choose_thread(session, process);
    lldb::SBThread thread = found.thread;
    const bool readable = session.runtime().absence() == nullptr;
    std::optional<TroubleReport> trouble;
    if (readable) trouble = find_trouble(session.locks(), session.stacks(), found.crash(), walk_options(out));
    if (json_) {
      out.line("{}", dump(analysis_json(session, process, found, trouble)));
      return;
    }
    if (trouble) print_verdict(out, *trouble);
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
    ExceptionReporter reporter(session.runtime());
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
    const StackReporter::End end = walk_stack(
        session, thread, {.max_frames = limit_, .runtime_frames = false}, [&](const FrameRow& row) {
          rows.push_back(row);
          return !out.interrupted();
        });
    print_frames(out, rows, std::nullopt);
    print_end(out, end, limit_);
  }

  static void print_verdict(Output& out, const TroubleReport& trouble) {
    std::string others;
    for (std::size_t i = 1; i < trouble.verdicts.size(); ++i)
      others += fmt::format("{}{}", i == 1 ? "; also " : ", ", to_string(trouble.verdicts[i]));
    out.line("verdict:   {}{}: {}{}", trouble.certain ? "" : "probably ", to_string(trouble.verdicts.front()),
             trouble.text, others);
  }

  static Json analysis_json(Session& session, lldb::SBProcess& process, const ChosenThread& found,
                            const std::optional<TroubleReport>& trouble) {
    Json json = trouble ? to_json(*trouble)
                        : Json{{"verdict", "unknown"},      {"verdicts", {"unknown"}},
                               {"certain", false},          {"text", absence_text(session.runtime())},
                               {"evidence", Json::array()}, {"missing", Json::array()}};
    json["process"] = process.GetProcessID();
    json["threads"] = process.GetNumThreads();
    lldb::SBThread thread = found.thread;
    if (thread.IsValid()) json["thread"] = {{"index", thread.GetIndexID()}, {"os_id", thread.GetThreadID()}};
    const MemoryReport memory = session.memory_report();
    for (const std::string& note : memory.notes) json["missing"].push_back(note);
    for (const std::string& file : memory.refusals) json["missing"].push_back(file);
    return json;
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
