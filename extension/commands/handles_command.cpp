// clr handles: the places outside of the heap that keep references.
#include "core/report/holders_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

namespace {

// Those that have names.
std::vector<std::string> kinds_of_handles() {
  std::vector<std::string> kinds;
  for (unsigned number = 0; number <= static_cast<unsigned>(GcHandleKind::weak_interior); ++number)
    if (std::string kind = to_string(static_cast<GcHandleKind>(number)); !kind.starts_with("kind_"))
      kinds.push_back(std::move(kind));
  return kinds;
}

class Handles final : public CommandRun {
public:
  explicit Handles(CLI::App& app) {
    const std::vector<std::string> kinds = kinds_of_handles();
    app.add_option("-k,--kind", kind_, fmt::format("Handles of one kind only: {}.", fmt::join(kinds, ", ")))
        ->type_name("KIND")
        ->check(one_of(kinds));
    auto* const count =
        app.add_flag("-c,--count", count_only_, "Print the number of handles of each kind and nothing else.");
    add_json(app, json_)->excludes(count);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    HeapHolders& holders = session.holders();
    std::map<std::string, std::size_t> counts;
    JsonList list([&](std::string_view text) { out.write(text); });
    for (const GcHandle& handle : holders.handles().handles) {
      if (out.interrupted()) break;
      const std::string kind = to_string(handle.kind);
      if (!kind_.empty() && kind != kind_) continue;
      ++counts[kind];
      if (count_only_) continue;
      if (json_)
        list.add(to_json(handle, holders));
      else
        out.line("{:#018x} {:<13} {:#018x} {}{}", handle.slot, kind, handle.object,
                 holders.type_of(handle.object),
                 handle.dependent == 0
                     ? ""
                     : fmt::format(" -> {:#x} {}", handle.dependent, holders.type_of(handle.dependent)));
    }
    if (json_) {
      list.end();
      out.write("\n");
    } else {
      for (const auto& [kind, count] : counts) out.line("{:>9} {}", count, kind);
      if (counts.empty()) out.line("{:>9} {}", 0, kind_.empty() ? "handles" : kind_);
    }
    for (const std::string& problem : holders.handles().problems) out.warning(problem);
  }

private:
  std::string kind_;
  bool count_only_ = false, json_ = false;
};

} // namespace

CommandSpec handles_command() {
  return {"handles",
          "gchandles",
          "List the handles: places outside of the heap in which the runtime and programs keep references.",
          "clr handles --kind pinned",
          "lists the objects that handles keep in their places.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Handles>(app); }};
}

} // namespace clr::lldb_plugin
