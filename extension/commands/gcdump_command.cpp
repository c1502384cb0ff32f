// clr gcdump: the managed heap for other programs.
#include "core/memory/error.h"
#include "core/memory/output_file.h"
#include "core/report/heap_gcdump.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/new_file.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>

namespace clr::lldb_plugin {

namespace {

class Gcdump final : public CommandRun {
public:
  explicit Gcdump(CLI::App& app) {
    file_.add(app, "The .gcdump to write.");
    app.add_flag("--live", live_, "Write the objects that a root reaches, and no others.");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    // Before the work: a place that cannot be written is told at once. Names of types may be secrets.
    file_.require_free();
    OutputFile file(file_.path, Readers::owner);
    const WrittenGcdump written = write_heap_gcdump(
        session.heap(), session.holders(), facts(session), live_,
        [&](std::span<const std::byte> bytes) { file.write(bytes); }, walk_options(out));
    file.commit();
    if (json_)
      out.line("{}", dump(to_json(written, file_.path)));
    else
      out.line("{}: {} bytes, {} objects of {} bytes with {} references, {} roots", file_.path,
               written.file_bytes, written.objects, written.bytes, written.references, written.roots);
    if (written.cut_sizes != 0)
      out.warning(fmt::format("{} objects are larger than a .gcdump can say: there they have {} bytes",
                              written.cut_sizes, max_gcdump_bytes));
    for (const std::string& text : session.holders().notes()) out.warning(text);
    warn_of_heap(out, session.heap(), session.holders().graph().index().gaps());
  }

private:
  static GcdumpFacts facts(Session& session) {
    GcdumpFacts facts;
    lldb::SBProcess process = session.target().GetProcess();
    facts.process_id = static_cast<std::int32_t>(process.GetProcessID());
    const char* const name = session.target().GetExecutable().GetFilename();
    if (name != nullptr) facts.process = name;
    facts.unix_seconds = std::time(nullptr);
    return facts;
  }

  NewFile file_;
  bool live_ = false, json_ = false;
};

} // namespace

CommandSpec gcdump_command() {
  return {"gcdump",
          nullptr,
          "Write the objects of the managed heap and their references as a .gcdump, which PerfView, Visual "
          "Studio and dotnet-gcdump open.",
          "clr gcdump heap.gcdump --live",
          "writes what the program holds, without what the next collection frees.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Gcdump>(app); }};
}

} // namespace clr::lldb_plugin
