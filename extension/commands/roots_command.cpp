// clr roots: the references from which the garbage collector starts.
#include "core/report/answer_json.h"
#include "core/report/json.h"
#include "core/report/root_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/parser.h"
#include "extension/commands/threads.h"

namespace clr::lldb_plugin {

namespace {

class Roots final : public CommandRun {
public:
  explicit Roots(CLI::App& app) {
    app.add_option("KIND", kind_, "Where roots are looked for: stack, the frames of threads.")
        ->check(one_of({"stack"}))
        ->required();
    each_takes_one(app.add_option("-t,--thread", threads_,
                                  "A thread as `clrbt` takes it: a number of LLDB's; all by default."))
        ->type_name("THREAD");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    if (threads_.empty()) threads_.emplace_back("all");
    lldb::SBProcess process = session.target().GetProcess();
    std::vector<lldb::SBThread> threads = choose_threads(process, threads_);
    RootReporter reporter(session.runtime(), session.stacks());
    JsonList list([&](std::string_view text) { out.write(text); });
    for (lldb::SBThread& thread : threads) {
      if (out.interrupted()) break;
      json_ ? print_json(session, thread, reporter, list, out) : print(session, thread, reporter, out);
    }
    if (json_) {
      list.end();
      out.write("\n");
    }
  }

private:
  static StackReporter::End walk(Session& session, lldb::SBThread& thread, RootReporter& reporter,
                                 Output& out, const std::function<void(const RootRow&)>& visit) {
    return reporter.walk(session.registers(thread), thread.GetThreadID(), [&](const RootRow& row) {
      visit(row);
      return !out.interrupted();
    });
  }

  void print(Session& session, lldb::SBThread& thread, RootReporter& reporter, Output& out) const {
    std::optional<std::pair<std::size_t, Address>> frame;
    bool any = false;
    const auto header = [&] {
      if (!any) out.line("{}", thread_header(thread));
      any = true;
    };
    const StackReporter::End end = walk(session, thread, reporter, out, [&](const RootRow& row) {
      header();
      // A GCFrame has the number of the frame in which it lies.
      const std::pair holder(row.frame, row.sp);
      if (frame != holder) out.line("  {}", frame_of(row));
      frame = holder;
      const std::string place =
          row.root.address ? fmt::format("{} at {:#x}", place_of(row), *row.root.address) : place_of(row);
      const auto words = words_of(row);
      out.line("    {:<40} {:#018x} {}{}{}{}", place, row.root.value, row.type,
               words.empty()      ? ""
               : row.type.empty() ? "("
                                  : " (",
               fmt::join(words, ", "), words.empty() ? "" : ")");
    });
    if (!end.notes.empty()) header();
    for (const std::string& note : end.notes) out.line("  note: {}", note);
    if (end.end != "bottom" && session.stacks().thread_of(thread.GetThreadID()) != nullptr) {
      header();
      out.line("  the walk ended early: {}", end.end);
    }
  }

  static void print_json(Session& session, lldb::SBThread& thread, RootReporter& reporter, JsonList& list,
                         Output& out) {
    const StackReporter::End end =
        walk(session, thread, reporter, out, [&](const RootRow& row) { list.add_text(json_text(row)); });
    for (const std::string& note : end.notes)
      out.warning(fmt::format("thread #{}: {}", thread.GetIndexID(), note));
  }

  std::string kind_;
  std::vector<std::string> threads_;
  bool json_ = false;
};

} // namespace

CommandSpec roots_command() {
  return {
      "roots",
      nullptr,
      "Show the references from which the garbage collector starts: where they are, and what they refer to.",
      "clr roots stack",
      "shows the objects that the frames of all threads hold.",
      [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Roots>(app); }};
}

} // namespace clr::lldb_plugin
