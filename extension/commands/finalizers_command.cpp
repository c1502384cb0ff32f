// clr finalizers: objects whose finalizers have not run.
#include "core/report/holders_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace clr::lldb_plugin {

namespace {

class Finalizers final : public CommandRun {
public:
  explicit Finalizers(CLI::App& app) {
    app.add_flag("-a,--all", all_,
                 "List also the objects whose finalizers are not due yet. JSON always does.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    HeapHolders& holders = session.holders();
    if (json_) {
      write_finalizers_json(holders, [&](std::string_view text) {
        out.write(text);
        return !out.interrupted();
      });
      out.write("\n");
      for (const std::string& problem : holders.finalizers().problems) out.warning(problem);
      return;
    }
    const FinalizerQueue& queue = holders.finalizers();
    out.line("{} objects wait for the finalizer thread", queue.ready.size());
    for (const FinalizerQueue::Ready& object : queue.ready) {
      if (out.interrupted()) return;
      out.line("  {:#018x} {}{}", object.object, holders.type_of(object.object),
               object.critical ? " (critical)" : "");
    }
    out.line("{} objects have a finalizer that runs once they are dead", queue.registered.size());
    all_ ? list(queue, holders, out) : count(queue, holders, out);
    for (const std::string& problem : queue.problems) out.warning(problem);
  }

private:
  static void list(const FinalizerQueue& queue, HeapHolders& holders, Output& out) {
    for (const FinalizerQueue::Registered& object : queue.registered) {
      if (out.interrupted()) return;
      out.line("  {:#018x} {:<6} {}", object.object, to_string(object.part), holders.type_of(object.object));
    }
  }

  static void count(const FinalizerQueue& queue, HeapHolders& holders, Output& out) {
    std::map<std::string, std::size_t> counts;
    for (const FinalizerQueue::Registered& object : queue.registered) {
      if (out.interrupted()) return;
      ++counts[holders.type_of(object.object)];
    }
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& entry) { return entry.second; });
    for (const auto& [type, number] : sorted)
      out.line("  {:>9} {}", number, type.empty() ? "<unknown type>" : type);
  }

  bool all_ = false, json_ = false;
};

} // namespace

CommandSpec finalizers_command() {
  return {"finalizers",
          "finalizequeue",
          "Show the objects whose finalizers have not run: those that wait for the finalizer thread, and the "
          "others.",
          "clr finalizers",
          "lists the objects that wait, and counts the others by type.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Finalizers>(app); }};
}

} // namespace clr::lldb_plugin
