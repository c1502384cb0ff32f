// clr unwind: the unwind data of an address.
#include "core/report/json.h"
#include "core/runtime/address_queries.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/lldb/modules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Unwind final : public CommandRun {
public:
  explicit Unwind(CLI::App& app) {
    app.add_option("ADDRESS", address_, "An address within code; the selected frame's pc by default.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    const Address ip = evaluate_address(session.target(), address_.empty() ? "$pc" : address_);
    Runtime& runtime = session.runtime();
    const auto [name, report] =
        unwind_at(runtime, session.memory(), ip, [&](Address at) { return symbol_at(session.target(), at); });
    if (json_) {
      Json json;
      json["address"] = hex(ip);
      json["name"] = name;
      json.update(to_json(report));
      out.line("{}", dump(json));
      return;
    }
    out.line("{:#018x}: {}", ip, name);
    for (const UnwindRecord& record : report.records) print(out, record);
    if (report.source == FoundBy::cfi) out.line("  by call frame information (.eh_frame)");
    out.line("  at this instruction:");
    for (const std::string& line : describe_layout(runtime.platform().cpu, report.layout))
      out.line("    {}", line);
  }

private:
  static void print(Output& out, const UnwindRecord& record) {
    if (record.function != 0)
      out.line("  RUNTIME_FUNCTION {:#x}: [{:#x}, {:#x}), unwind information {:#x}", record.function,
               record.begin, record.end, record.unwind_info);
    else
      out.line("  chained to [{:#x}, {:#x}), unwind information {:#x}", record.begin, record.end,
               record.unwind_info);
    out.line("    version {}{}{}", record.version, record.details.empty() ? "" : ", ",
             fmt::join(record.details, ", "));
    for (const UnwindStep& step : record.steps) {
      const std::string at =
          step.prologue_offset ? fmt::format("+ {:<4}", *step.prologue_offset) : std::string();
      out.line("    {}{:<18}{}", at, step.op, step.what);
    }
  }

  std::string address_;
  bool json_ = false;
};

} // namespace

CommandSpec unwind_command() {
  return {"unwind",
          nullptr,
          "Show the unwind data of an address: codes, and the CFA and saved registers there.",
          "clr unwind $pc",
          "shows how the selected frame is unwound.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Unwind>(app); }};
}

} // namespace clr::lldb_plugin
