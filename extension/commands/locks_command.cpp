// clr locks: who holds and who waits for which lock.
#include "core/report/lock_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Locks final : public CommandRun {
public:
  explicit Locks(CLI::App& app) {
    app.add_flag("-w,--waited", waited_, "Leave out locks that nobody waits for.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    LockReporter& locks = session.locks();
    const LockTable& table = locks.table(walk_options(out));
    JsonList list([&](std::string_view text) { out.write(text); });
    std::size_t shown = 0;
    for (const LockRow& row : table.locks) {
      if (out.interrupted()) break;
      // Who waits for a thread is told by `clr threads`.
      if (is_of_thread(row.state.kind) || (waited_ && row.waiters.empty())) continue;
      ++shown;
      if (json_)
        list.add(to_json(row, locks));
      else
        print(out, row, table, locks);
    }
    if (json_) {
      list.end();
      out.write("\n");
    } else if (shown == 0) {
      out.line("no lock is {}", waited_ ? "waited for" : "held or waited for");
    }
    for (const std::string& problem : table.problems) out.warning(problem);
  }

private:
  static std::string how(const LockRow& row) {
    std::string text(to_string(row.state.kind));
    if (row.state.kind == LockKind::monitor) text += row.state.thin ? ", thin" : ", sync block";
    return text;
  }

  static void print(Output& out, const LockRow& row, const LockTable& table, LockReporter& locks) {
    const std::string type = locks.type_of(row.state);
    out.line("{:#x} {} ({})", row.state.object, type.empty() ? "of unknown type" : type, how(row));
    if (!row.fault.empty()) out.line("  its state cannot be read: {}", row.fault);
    std::string owner = locks.owner_text(row);
    if (row.owner && row.state.entries > 1) owner += fmt::format(", entered {} times", row.state.entries);
    if (row.owner && row.owner->os_id)
      if (const ThreadWait* wait = locks.wait_of(*row.owner->os_id)) owner += stands(*wait, locks);
    if (!owner.empty()) out.line("  {}", owner);
    for (const std::size_t i : row.waiters) {
      const ThreadWait& wait = table.waits[i];
      const std::string place = locks.place_text(wait);
      out.line("  {} {}waits{}{}{}", locks.thread_text(wait.os_id), wait.certain ? "" : "probably ",
               wait.mode == WaitMode::wait ? "" : " ", purpose_text(wait.mode),
               place.empty() ? "" : fmt::format(" in {}", place));
    }
  }

  static std::string stands(const ThreadWait& wait, LockReporter& locks) {
    const std::string place = locks.place_text(wait);
    return place.empty() ? "" : fmt::format(", which stands in {}", place);
  }

  bool waited_ = false, json_ = false;
};

} // namespace

CommandSpec locks_command() {
  return {"locks",
          "syncblk",
          "List the locks that threads hold or wait for: their owners, and who waits where.",
          "clr locks",
          "lists locks of all kinds, those with most waiters first.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Locks>(app); }};
}

} // namespace clr::lldb_plugin
