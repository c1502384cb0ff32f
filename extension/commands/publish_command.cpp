// clr publish: whether LLDB's own commands know managed code.
#include "core/report/json.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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
    };
    action("on", "Let LLDB's own commands know managed code.");
    action("off", "Take managed code from LLDB again.");
    action("status", "Show how much was published and what it took; this is the default.");
    action("update", "Bring LLDB up to date now; the plugin does so at each stop.");
  }

  void run(Invocation& invocation) override {
    Publishing& publishing = invocation.publishing;
    lldb::SBTarget target = invocation.debugger.GetSelectedTarget();
    if (what_ == "update") {
      // The stop hook runs this at every stop: it prints nothing, and a process without a runtime is no
      // error.
      publishing.update_all(invocation.debugger);
      go_on(invocation);
      return;
    }
    if (what_ == "on" || what_ == "off") {
      PublishSettings settings = publishing.settings();
      settings.on = what_ == "on";
      publishing.set(settings);
    }
    publishing.update_all(invocation.debugger);
    print(invocation.out, publishing, target);
  }

private:
  // Lets the process run again when the stop was only for the plugin.
  static void go_on(Invocation& invocation) {
    PublishListener* listener = invocation.publishing.listener();
    lldb::SBTarget target = invocation.debugger.GetSelectedTarget();
    if (listener == nullptr || !target.IsValid() || !listener->at_stop(target)) return;
    target.GetProcess().Continue();
    invocation.out.continued();
  }

  void print(Output& out, const Publishing& publishing, lldb::SBTarget& target) const {
    const Publisher* publisher = target.IsValid() ? publishing.of(target) : nullptr;
    const PublishStatus status = publisher != nullptr ? publisher->status() : PublishStatus{};
    const Omissions missing = publisher != nullptr ? publisher->omissions() : Omissions{};
    const PublishSettings& settings = publishing.settings();
    if (json_) {
      Json json{{"schema", json_schema},
                {"on", settings.on},
                {"modules", status.modules},
                {"methods", status.methods},
                {"first_ms", status.first_milliseconds},
                {"last_ms", status.last_milliseconds},
                {"problems", Json::array()}};
      for (const std::string& problem : status.problems) json["problems"].push_back(problem);
      json["missing"] = json_of(missing);
      out.line("{}", dump(json));
      return;
    }
    if (!settings.on) {
      out.line("publishing is off");
      return;
    }
    out.line("publishing is on: names and unwinding{}{}{}", settings.lines ? ", lines" : "",
             settings.variables ? ", variables" : "", settings.r2r ? ", ReadyToRun code" : "");
    if (publisher == nullptr) {
      out.line("nothing is published: no stopped process with a runtime is selected");
      return;
    }
    out.line("{} modules, {} pieces of code; the first time took {:.0f} ms, the last {:.0f} ms",
             status.modules, status.methods, status.first_milliseconds, status.last_milliseconds);
    for (const std::string& sentence : missing.sentences()) out.line("{}", printable(sentence));
    for (const std::string& problem : status.problems) out.warning(printable(problem));
  }

  std::string what_ = "status";
  bool json_ = false;
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
