// clr report: all that tells what is the matter, as one page.
#include "core/memory/count_text.h"
#include "core/memory/error.h"
#include "core/memory/output_file.h"
#include "core/report/page/page.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/new_file.h"
#include "extension/commands/own_version.h"
#include "extension/commands/threads.h"
#include "extension/session/chosen_thread.h"
#include "extension/session/stack_walk.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace clr::lldb_plugin {

namespace {

class Report final : public CommandRun {
public:
  explicit Report(CLI::App& app) { file_.add(app, "The page to write."); }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    // Before the work: a place that cannot be written is told at once. A page holds messages of exceptions.
    file_.require_free();
    OutputFile file(file_.path, Readers::owner);
    lldb::SBProcess process = session.target().GetProcess();
    PageSource source = source_of(session, process, out);
    const MadePage page = made(source);
    file.write(page.html);
    file.commit();
    out.line("{}: {} bytes", file_.path, page.html.size());
    if (!page.missing.empty())
      out.line("it lacks {}, as its last section says", count_text(page.missing.size(), "thing"));
  }

private:
  MadePage made(PageSource& source) const {
    try {
      return make_page(source);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      throw Error(ErrorKind::interrupted, fmt::format("interrupted: {} is not written", file_.path));
    }
  }

  static PageSource source_of(Session& session, lldb::SBProcess& process, Output& out) {
    PageSource source;
    source.runtime = &session.runtime();
    source.stacks = &session.stacks();
    source.locks = [&session]() -> LockReporter& { return session.locks(); };
    source.waits = [&session]() -> WaitObjects& { return session.waits(); };
    source.heap = [&session]() -> HeapReporter& { return session.heap(); };
    source.holders = [&session]() -> HeapHolders& { return session.holders(); };
    source.retainers = [&session]() -> HeapRetainers& { return session.retainers(); };
    source.memory = [&session] { return session.memory_report(); };
    for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
      lldb::SBThread thread = process.GetThreadAtIndex(i);
      source.threads.push_back({.index = thread.GetIndexID(),
                                .os_id = thread.GetThreadID(),
                                .header = thread_header(thread),
                                .registers = session.registers(thread)});
    }
    source.walk = [&session, process](const PageThread& of, const StackReporter::Options& options,
                                      const auto& visit) mutable {
      lldb::SBThread thread = process.GetThreadByID(of.os_id);
      return walk_stack(session, thread, options, visit);
    };
    ChosenThread chosen = choose_thread(session, process);
    if (chosen.thread.IsValid() && !chosen.selected)
      for (const PageThread& thread : source.threads)
        if (thread.os_id == chosen.thread.GetThreadID()) source.chosen = &thread;
    source.why_chosen = chosen.why;
    source.crash = chosen.crash(session);
    source.program_name = session.program_name();
    const char* const name = session.target().GetExecutable().GetFilename();
    source.process = fmt::format("{}{}{}", process.GetProcessID(), name == nullptr ? "" : " ",
                                 name == nullptr ? "" : name);
    source.maker = maker();
    source.options = walk_options(out);
    source.stop = [&out] { return out.interrupted(); };
    return source;
  }

  // "Made by lldb-clr 0.1.0 (commit 83e24d3) on 2026-11-23 at 16:58 UTC".
  static std::string maker() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    std::array<char, 64> when{};
    if (gmtime_r(&now, &parts) != nullptr)
      std::strftime(when.data(), when.size(), " on %Y-%m-%d at %H:%M UTC", &parts);
    return fmt::format("Made by {}{}", own_version(), when.data());
  }

  NewFile file_;
};

} // namespace

CommandSpec report_command() {
  return {"report",
          nullptr,
          "Write one page (HTML) that tells what is the matter, to be attached to a ticket: the verdict, "
          "deadlocks, locks, async methods, stacks, exceptions, the heap, and what is missing.",
          "clr report what-happened.html",
          "writes a page that every browser shows, without a network.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Report>(app); }};
}

} // namespace clr::lldb_plugin
