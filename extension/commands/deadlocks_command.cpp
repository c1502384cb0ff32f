// clr deadlocks: threads that wait for each other.
#include "core/report/deadlock_report.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Deadlocks final : public CommandRun {
public:
  explicit Deadlocks(CLI::App& app) {
    auto* const dot =
        app.add_flag("-d,--dot", dot_, "Print who waits for whom as a graph for Graphviz, all waits of it.");
    add_json(app, json_)->excludes(dot);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    LockReporter& locks = session.locks();
    const std::vector<Deadlock>& deadlocks = locks.deadlocks(walk_options(out));
    if (dot_) {
      out.write(wait_graph_dot(locks));
    } else if (json_) {
      JsonList list([&](std::string_view text) { out.write(text); });
      for (const Deadlock& deadlock : deadlocks) list.add(to_json(deadlock, locks));
      list.end();
      out.write("\n");
    } else {
      for (const Deadlock& deadlock : deadlocks)
        for (const std::string& text : deadlock_lines(deadlock, locks)) out.line("{}", text);
      if (deadlocks.empty()) out.line("no deadlock was found");
    }
    for (const std::string& problem : locks.table().problems) out.warning(problem);
  }

private:
  bool dot_ = false, json_ = false;
};

} // namespace

CommandSpec deadlocks_command() {
  return {"deadlocks",
          nullptr,
          "Find threads and tasks that wait for each other: what each holds, what it waits for, and where.",
          "clr deadlocks",
          "shows each deadlock with all of its members.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Deadlocks>(app); }};
}

} // namespace clr::lldb_plugin
