// clr threads: the runtime's threads.
#include "core/report/json.h"
#include "core/report/lock_json.h"
#include "core/report/thread_report.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Threads final : public CommandRun {
public:
  explicit Threads(CLI::App& app) { add_json(app, json_); }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    const ThreadList& threads = session.stacks().threads();
    ExceptionReporter exceptions(session.runtime());
    lldb::SBProcess process = session.target().GetProcess();
    LockReporter& locks = session.locks();
    // Most waits are told by the stacks alone; the heap is walked when one is not.
    if (locks.table_by_stacks(); !locks.stacks_tell_all()) {
      try {
        locks.table(walk_options(out));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) throw;
        out.warning("interrupted: what some threads wait for is not known");
      }
    }
    JsonList list([&](std::string_view text) { out.write(text); });
    if (!json_)
      out.line("{:>5} {:>8} {:>7} {:<11} {:<18} {}", "index", "os id", "managed", "GC mode", "Thread",
               "name, state, exception, what it waits for");
    for (const RuntimeThread& thread : threads.threads) {
      if (out.interrupted()) break;
      const ThreadReport row = report_thread(thread, index_of(thread, process), exceptions);
      const ThreadWait* const wait = locks.wait_of(thread.os_id.value_or(0));
      if (json_) {
        Json json = to_json(row);
        if (wait != nullptr)
          if (Json waits = waits_for_json(*wait, locks); !waits.is_null())
            json["waits_for"] = std::move(waits);
        list.add(json);
      } else {
        print(out, row, wait == nullptr ? "" : wait_words(*wait, locks));
      }
    }
    if (json_) {
      list.end();
      out.write("\n");
    }
    if (!threads.problem.empty())
      out.warning(fmt::format("the list of threads is not whole: {}", threads.problem));
  }

private:
  static unsigned index_of(const RuntimeThread& thread, lldb::SBProcess& process) {
    if (thread.os_id.value_or(0) == 0) return 0;
    lldb::SBThread known = process.GetThreadByID(*thread.os_id);
    return known.IsValid() ? known.GetIndexID() : 0;
  }

  static void print(Output& out, const ThreadReport& row, const std::string& waits) {
    const RuntimeThread& thread = *row.thread;
    const auto number = [](const auto& value) {
      return value ? fmt::format("{}", *value) : std::string("?");
    };
    std::string text = thread_words(row);
    if (!waits.empty()) text += fmt::format("{}{}", text.empty() ? "" : "; ", waits);
    if (const std::string fault = row.fault(); !fault.empty()) text += fmt::format(" (fault: {})", fault);
    out.line("{:>5} {:>8} {:>7} {:<11} {:<#18x} {}", row.index == 0 ? "-" : fmt::format("#{}", row.index),
             number(thread.os_id), number(thread.managed_id),
             thread.cooperative ? (*thread.cooperative ? "cooperative" : "preemptive") : "?", thread.address,
             text);
  }

  bool json_ = false;
};

} // namespace

CommandSpec threads_command() {
  return {"threads",
          nullptr,
          "List the runtime's threads: ids, name, state, GC mode, exception, and what each waits for.",
          "clr threads",
          "lists the threads that the runtime knows.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Threads>(app); }};
}

} // namespace clr::lldb_plugin
