// clr alloc: the memory that threads were given and have not used yet.
#include "core/memory/count_text.h"
#include "core/report/heap_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Alloc final : public CommandRun {
public:
  explicit Alloc(CLI::App& app) { add_json(app, json_); }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    const HeapMap& map = session.heap().map();
    const ThreadList& threads = session.stacks().threads();
    const ContextOwners owners(threads);
    JsonList list([&](std::string_view text) { out.write(text); });
    std::uint64_t left = 0;
    if (!json_)
      out.line("{:>10} {:>8} {:>18} {:>18} {:>9} {}", "thread", "managed", "next object", "limit", "left",
               "part");
    for (const AllocationContext& context : map.contexts) {
      if (out.interrupted()) break;
      const RuntimeThread* const thread = owners.of(context);
      const HeapRange* const range = map.find(context.begin);
      left += context.end - context.begin;
      if (json_)
        list.add(allocation_json(context, thread, map));
      else
        out.line("{:>10} {:>8} {:#018x} {:#018x} {:>9} {}", owner(context, thread), managed_id(thread),
                 context.begin, context.end, context.end - context.begin,
                 range == nullptr ? "" : to_string(range->part));
    }
    if (json_) {
      list.end();
      out.write("\n");
    } else if (!out.interrupted()) {
      out.line("{} bytes are given and not used, in {}; {} in all", left,
               count_text(map.contexts.size(), "place"), count_text(threads.threads.size(), "thread"));
    }
    if (!threads.problem.empty()) out.warning(threads.problem);
    for (const std::string& text : session.heap().warnings()) out.warning(text);
  }

private:
  static std::string owner(const AllocationContext& context, const RuntimeThread* thread) {
    if (context.thread == 0) return "collector";
    return thread != nullptr && thread->os_id ? fmt::format("{}", *thread->os_id) : "unknown";
  }
  static std::string managed_id(const RuntimeThread* thread) {
    return thread != nullptr && thread->managed_id ? fmt::format("{}", *thread->managed_id) : "";
  }

  bool json_ = false;
};

} // namespace

CommandSpec alloc_command() {
  return {
      "alloc",
      nullptr,
      "Show the memory of the heap that threads were given for their next objects, and what is left of it.",
      "clr alloc",
      "shows for each thread where its next object goes.",
      [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Alloc>(app); }};
}

} // namespace clr::lldb_plugin
