// clr unwind: the unwind data of an address.
#include "core/runtime/json.h"
#include "core/stack/native_unwinder.h"
#include "core/stack/unwind_report.h"
#include "extension/address_argument.h"
#include "extension/command.h"
#include "extension/lldb_stack.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Unwind final : public CommandRun {
public:
  explicit Unwind(CLI::App& app) {
    app.add_option("ADDRESS", address_, "address within code; the selected frame's pc by default");
    app.add_flag("-j,--json", json_, "print JSON");
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    const Address ip = evaluate_address(session.target(), address_.empty() ? "$pc" : address_);
    Runtime& runtime = session.runtime();
    std::string name;
    const UnwindReport report = report_of(session, ip, name);
    if (json_) {
      Json json;
      json["address"] = hex(ip);
      json["name"] = name;
      json.update(to_json(report));
      out.line("{}", dump(json));
      return;
    }
    out.line("{:#018x}: {}", ip, printable(name));
    for (const UnwindRecord& record : report.records) print(out, record);
    if (report.source == FoundBy::cfi) out.line("  by call frame information (.eh_frame)");
    out.line("  at this instruction:");
    for (const std::string& line : describe_layout(runtime.platform().cpu, report.layout))
      out.line("    {}", line);
  }

private:
  static UnwindReport report_of(Session& session, Address ip, std::string& name) {
    Runtime& runtime = session.runtime();
    std::string why = "no module";
    if (ExecutionManager* code = runtime.code()) {
      const CodeLookup found = code->find(ip);
      if (const auto* block = std::get_if<CodeBlock>(&found)) {
        const MethodAnswer answer = runtime.describe(*block);
        name = method_and_offset(answer.method, answer.code);
        return report_unwind(*code, *block);
      }
      const Miss& miss = std::get<Miss>(found);
      if (miss.reason != MissReason::outside) {
        name = miss.text;
        why = fmt::format("{}: it has no unwind data", miss.text);
      }
    }
    NativeUnwinder native(session.memory(), runtime.platform(), runtime.modules());
    if (const LoadedModule* module = native.module_at(ip)) {
      if (name.empty()) name = native_name(session, *module, ip);
      why = fmt::format("{} has no usable call frame information for it", module->path);
    }
    if (auto report = report_unwind(native, runtime.platform().cpu, ip)) return *std::move(report);
    throw Error(ErrorKind::invalid_argument, fmt::format("no unwind data for {:#x}: {}", ip, why));
  }

  static std::string native_name(Session& session, const LoadedModule& module, Address ip) {
    FrameRow row;
    row.ip = ip;
    name_native_frame(session.target(), row, ip);
    if (row.symbol.empty()) return fmt::format("{} + {:#x}", module.path, ip - module.base);
    return fmt::format("{}`{}{}", row.module, row.symbol, row.position);
  }

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
  return {"unwind", nullptr, "Show the unwind data of an address: codes, CFA and saved registers there.",
          "[-j] [ADDRESS]",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Unwind>(app); }};
}

} // namespace clr::lldb_plugin
