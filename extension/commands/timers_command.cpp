// clr timers: what is going to run, and when.
#include "core/memory/count_text.h"
#include "core/report/pool_json.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class TimersRun final : public CommandRun {
public:
  explicit TimersRun(CLI::App& app) { add_json(app, json_); }

  void run(Invocation& invocation) override {
    Output& out = invocation.out;
    const TimerReport report = report_timers(invocation.session().runtime());
    if (json_)
      print_json(report, out);
    else
      print(report, out);
    for (const std::string& problem : report.problems) out.warning(problem);
  }

private:
  static void print_json(const TimerReport& report, Output& out) {
    JsonList list([&](std::string_view text) { out.write(text); });
    for (const TimerRow& row : report.rows) {
      if (out.interrupted()) break;
      list.add(to_json(row));
    }
    list.end();
    out.write("\n");
  }

  static void print(const TimerReport& report, Output& out) {
    if (!report.rows.empty())
      out.line("{:>18} {:>12} {:>12} {:>12} {}", "timer", "ms left", "ms", "period", "calls");
    for (const TimerRow& row : report.rows) {
      if (out.interrupted()) break;
      out.line("{:#018x} {:>12} {:>12} {:>12} {}{}", row.timer.object, row.left_ms, row.timer.due_ms,
               row.timer.period_ms ? std::to_string(*row.timer.period_ms) : "", row.callback.str(),
               row.timer.state_type.empty() ? "" : fmt::format(" ({})", row.timer.state_type.str()));
    }
    out.line("{}", count_text(report.rows.size(), "timer"));
  }

  bool json_ = false;
};

} // namespace

CommandSpec timers_command() {
  return {"timers",
          "timerinfo",
          "List the timers of .NET, the one that is due first at the top: what they call, and when.",
          "clr timers",
          "shows the timers. At most so many milliseconds are left: a core does not say how late it is.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<TimersRun>(app); }};
}

} // namespace clr::lldb_plugin
