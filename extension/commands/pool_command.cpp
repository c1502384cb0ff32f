// clr pool: the thread pool's workers, and what is queued for them.
#include "core/memory/count_text.h"
#include "core/report/pool_json.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Pool final : public CommandRun {
public:
  explicit Pool(CLI::App& app) { add_json(app, json_); }

  void run(Invocation& invocation) override {
    Output& out = invocation.out;
    const std::optional<PoolReport> report = report_pool(invocation.session().runtime());
    if (!report)
      out.line("{}", json_ ? "null" : "the program has not used its thread pool");
    else if (json_)
      out.line("{}", dump(to_json(*report)));
    else
      print(*report, out);
    if (!report) return;
    for (const std::string& problem : report->state.problems) out.warning(problem);
    if (report->state.left_out) out.warning(fmt::format("at most {} items are looked at", max_pool_items));
  }

private:
  static std::string text(const std::optional<unsigned>& number) {
    return number ? std::to_string(*number) : "?";
  }

  static void print(const PoolReport& report, Output& out) {
    const ThreadPoolState& state = report.state;
    out.line("workers: {} work, {} exist, {} are wanted; at least {}, at most {}; {} blocked in a task",
             text(state.processing), text(state.existing), text(state.goal), text(state.minimum),
             text(state.maximum), text(state.blocked));
    if (report.starved()) out.line("starved: items are queued, and all workers are busy or blocked");
    if (!report.groups.empty()) out.line("{:>9} {:<13} {}", "count", "queue", "runs");
    for (const PoolGroup& group : report.groups)
      out.line("{:>9} {:<13} {}", group.count, to_string(group.queue), group.method.str());
    out.line("{} queued", count_text(state.items.size(), "item"));
  }

  bool json_ = false;
};

} // namespace

CommandSpec pool_command() {
  return {"pool",
          "threadpool",
          "Show the thread pool: its workers, and what is queued for them, by method.",
          "clr pool --json",
          "prints the pool's numbers and queues for a program.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Pool>(app); }};
}

} // namespace clr::lldb_plugin
