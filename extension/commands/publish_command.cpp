// clr publish: whether LLDB's own commands know managed code.
#include "core/report/json.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/process/visits.h"
#include "extension/session/stop_session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace clr::lldb_plugin {

namespace {

Json json_of(const Omissions& missing) {
  Json groups = Json::array();
  for (const Omissions::Group& group : missing.groups()) {
    Json examples = Json::array();
    for (const Omission& omission : group.examples)
      examples.push_back({{"of", omission.of}, {"text", omission.text}});
    groups.push_back({{"what", to_string(group.part)},
                      {"reason", to_string(group.cause)},
                      {"reading", group.reading},
                      {"count", group.count},
                      {"examples", std::move(examples)}});
  }
  return groups;
}

class Publish final : public CommandRun {
public:
  explicit Publish(CLI::App& app) {
    add_json(app, json_);
    app.require_subcommand(0, 1);
    const auto action = [&](const char* name, const char* help) {
      CLI::App* const added = app.add_subcommand(name, help)->fallthrough();
      added->set_help_flag(); // --help goes through to the command
      added->callback([this, name] { what_ = name; });
      return added;
    };
    app.add_flag("--wait", wait_, "Return when all is published, as without it.");
    action("on", "Let LLDB's own commands know managed code: all of it now, as without an action.");
    action("off", "Take managed code from LLDB again.");
    action("status", "Show how much was published and what it took, and publish nothing.");
    CLI::App* const update = action("update", "Bring LLDB up to date as at a stop.");
    add_count(*update, ProcessPublishing::hook_option, hook_, {0, UINT32_MAX}, "")->group("");
  }

  void run(Invocation& invocation) override {
    if (json_ && what_ == "update")
      throw Error(ErrorKind::invalid_argument, "update prints nothing, so it takes no --json");
    if (wait_ && !what_.empty() && what_ != "on")
      throw Error(ErrorKind::invalid_argument, fmt::format("--wait does not go with {}", what_));
    if (what_ == "update") return at_stop(invocation);
    Workspace& workspace = invocation.workspace();
    if (what_ == "on" || what_ == "off") {
      PublishSettings settings = workspace.publish_settings();
      settings.on = what_ == "on";
      workspace.set(settings);
    }
    if (what_ != "status") {
      workspace.publish_all(invocation.debugger);
      if (const auto process = workspace.find(invocation.debugger.GetSelectedTarget()))
        workspace.publish_types(*process);
    }
    print(invocation, workspace);
  }

private:
  // The stop hook runs this at every stop: it prints nothing, and a process without a runtime is no error.
  // Lets the process run again when the stop was only for the plugin.
  void at_stop(Invocation& invocation) const {
    for (lldb::SBTarget& target : targets_of_stop(invocation)) {
      if (!visit_stop(invocation.turn, invocation.debugger, target, hook_.has_value())) continue;
      target.GetProcess().Continue();
      invocation.out.continued();
    }
  }

  std::vector<lldb::SBTarget> targets_of_stop(Invocation& invocation) const {
    if (!hook_) return {invocation.debugger.GetSelectedTarget()};
    Workspace& workspace = invocation.workspace();
    if (const auto known = workspace.target_of_hook(*hook_)) return {*known};
    return workspace.targets_of_copied_hook(invocation.debugger);
  }

  void print(const Invocation& invocation, Workspace& workspace) const {
    Output& out = invocation.out;
    lldb::SBDebugger debugger = invocation.debugger;
    const auto process = workspace.find(debugger.GetSelectedTarget());
    const bool begun = process && process->publishing().begun();
    const PublishStatus status = begun ? process->publishing().status() : PublishStatus{};
    const bool complete = !begun || process->publishing().complete();
    const PublishLevel level = begun ? process->publishing().level() : PublishLevel::nothing;
    Omissions missing = begun ? process->publishing().omissions() : Omissions{};
    if (begun) missing.add(process->types().missing());
    const PublishSettings& settings = workspace.publish_settings();
    lldb::SBTarget target = debugger.GetSelectedTarget();
    const Door::Troubles troubles = workspace.troubles();
    if (json_) {
      Json json{{"schema", json_schema},
                {"on", settings.on},
                {"modules", status.modules},
                {"methods", status.methods},
                {"complete", complete},
                {"level", to_string(level)},
                {"first_ms", status.first_milliseconds},
                {"last_ms", status.last_milliseconds},
                {"problems", Json::array()},
                {"lost_turns", troubles.lost_turns},
                {"unhandled_calls", troubles.unhandled}};
      for (const std::string& problem : status.problems) json["problems"].push_back(problem);
      json["missing"] = json_of(missing);
      out.line("{}", dump(json));
      return;
    }
    if (!settings.on)
      out.line("publishing is off");
    else
      print_status(out, settings, status, missing, begun, complete, level,
                   what_ == "status" && is_stopped_process(target));
    if (troubles.lost_turns != 0)
      out.warning(fmt::format("{} calls found another command at work and did nothing", troubles.lost_turns));
    if (troubles.unhandled != 0)
      out.warning(fmt::format("{} calls of LLDB's were not handled, the last one: {}", troubles.unhandled,
                              troubles.last));
  }

  static void print_status(Output& out, const PublishSettings& settings, const PublishStatus& status,
                           const Omissions& missing, bool begun, bool complete, PublishLevel level,
                           bool may_follow) {
    out.line("publishing is on: names and unwinding{}{}{}", settings.lines ? ", lines" : "",
             settings.variables ? ", variables" : "", settings.r2r ? ", ReadyToRun code" : "");
    if (!begun) {
      out.line("{}", may_follow
                         ? "nothing is published yet: code follows when a command needs it (clr publish)"
                         : "nothing is published: no stopped process with a runtime is selected");
      return;
    }
    out.line("{} modules, {} pieces of code; the first time took {:.0f} ms, the last {:.0f} ms",
             status.modules, status.methods, status.first_milliseconds, status.last_milliseconds);
    if (level == PublishLevel::stack)
      out.line(
          "code on the stack of the selected thread is published; the rest follows when a command needs it "
          "(clr publish)");
    if (level == PublishLevel::stacks)
      out.line("code on stacks is published; the rest follows when a command needs it (clr publish)");
    for (const std::string& sentence : missing.sentences()) out.line("{}", sentence);
    if (!complete)
      out.warning(
          "not complete: it was interrupted; the next command that shows code goes on with it, or clr "
          "publish on");
    for (const std::string& problem : status.problems) out.warning(problem);
  }

  std::string what_;
  std::optional<std::uint32_t> hook_; // as ProcessPublishing::hook_option says; nothing: the user asks
  bool json_ = false, wait_ = false;
};

} // namespace

CommandSpec publish_command() {
  return {"publish",
          nullptr,
          "Choose whether LLDB's own commands (bt, b, step, frame variable) know managed code.",
          "clr publish off",
          "takes managed code from LLDB's own commands.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Publish>(app); }};
}

} // namespace clr::lldb_plugin
