// clr static: static fields by their names.
#include "core/report/answer_json.h"
#include "core/report/json.h"
#include "core/report/object_json.h"
#include "core/runtime/name_filter.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

namespace {

class StaticValues final : public CommandRun {
public:
  explicit StaticValues(CLI::App& app) {
    app.add_option("NAME", name_,
                   "Ns.Type.Field, or Ns.Type for all fields of a type; * and ? stand for any text.")
        ->required();
    each_takes_one(app.add_option("-t,--thread", threads_,
                                  "The thread whose [ThreadStatic] fields are shown: a number of LLDB's, or "
                                  "all; the selected one by default."))
        ->type_name("THREAD");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    const NameFilter filter(name_);
    const StaticSearch search{.accepts = [&](const std::string& name) { return filter.accepts(name); },
                              .threads = chosen(session),
                              .limits = {}};
    bool any = false;
    JsonList list([&](std::string_view text) { out.write(text); });
    const std::vector<std::string> notes =
        for_each_static(*session.runtime().objects(), search, [&](const StaticRow& row) {
          any = true;
          if (json_) {
            list.add_text(json_text(row));
          } else {
            print(out, row);
          }
          return !out.interrupted();
        });
    if (json_) {
      list.end();
      out.write("\n");
    }
    for (const std::string& note : notes) out.warning(note);
    if (!any && !json_)
      out.error(fmt::format("no loaded type has a static field {}; constants have no place in memory{}",
                            name_,
                            search.threads.empty() ? ", and the runtime does not know the selected thread, "
                                                     "whose [ThreadStatic] fields are shown"
                                                   : ""));
  }

private:
  std::vector<StaticsThread> chosen(Session& session) const {
    lldb::SBProcess process = session.target().GetProcess();
    std::vector<StaticsThread> found;
    const bool all = std::ranges::find(threads_, "all") != threads_.end();
    for (lldb::SBThread& thread : choose_threads(process, threads_))
      if (const RuntimeThread* known = session.stacks().thread_of(thread.GetThreadID()))
        found.push_back({.os_id = thread.GetThreadID(), .address = known->address});
      else if (!threads_.empty() && !all)
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("the runtime does not know thread #{}", thread.GetIndexID()));
    return found;
  }

  static void print(Output& out, const StaticRow& row) {
    out.line("{}{}: {} = {}", row.property.empty() ? row.name : row.property,
             row.os_id ? fmt::format(" (thread {})", *row.os_id) : "", shown_type(row.value),
             shown_text(row.value));
  }

  std::string name_;
  std::vector<std::string> threads_;
  bool json_ = false;
};

} // namespace

CommandSpec static_command() {
  return {"static",
          nullptr,
          "Show static fields by their names, also of types that no variable has.",
          "clr static Shop.Cache.*",
          "shows the static fields of Shop.Cache.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<StaticValues>(app); }};
}

} // namespace clr::lldb_plugin
