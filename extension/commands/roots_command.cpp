// clr roots: the references from which the garbage collector starts.
#include "core/report/answer_json.h"
#include "core/report/holders_json.h"
#include "core/report/json.h"
#include "core/report/root_json.h"
#include "core/runtime/presence.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Roots final : public CommandRun {
public:
  explicit Roots(CLI::App& app) {
    app.add_option(
           "KIND", kind_,
           "Where roots are looked for: stack (the frames of threads), handle, static, thread_static, "
           "finalizer (objects whose finalizers are due); everywhere by default.")
        ->check(one_of({"stack", "handle", "static", "thread_static", "finalizer"}));
    each_takes_one(app.add_option("-t,--thread", threads_,
                                  "Of stacks: a thread as `clrbt` takes it, a number of LLDB's; all by "
                                  "default."))
        ->type_name("THREAD");
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    if (!threads_.empty() && kind_ != "stack")
      throw Error(ErrorKind::invalid_argument, "--thread is possible only with stack");
    JsonList list([&](std::string_view text) { out.write(text); });
    if (kind_ != "stack") {
      try {
        show_others(session, list, out);
      } catch (const Error& error) {
        // Stacks need no heap.
        if (!kind_.empty() || error.kind() == ErrorKind::interrupted) throw;
        out.warning(fmt::format("static fields, handles and finalizers are not known: {}", error.what()));
      }
    }
    if (kind_.empty() || kind_ == "stack") show_stacks(session, list, out);
    if (json_) {
      list.end();
      out.write("\n");
    }
  }

private:
  void show_stacks(Session& session, JsonList& list, Output& out) {
    if (threads_.empty()) threads_.emplace_back("all");
    lldb::SBProcess process = session.target().GetProcess();
    std::vector<lldb::SBThread> threads = choose_threads(process, threads_);
    RootReporter reporter(session.runtime(), session.stacks());
    for (lldb::SBThread& thread : threads) {
      if (out.interrupted()) break;
      json_ ? print_json(session, thread, reporter, list, out) : print(session, thread, reporter, out);
    }
  }

  // Static fields, handles and so on: one row for each root.
  void show_others(Session& session, JsonList& list, Output& out) const {
    HeapHolders& holders = session.holders();
    for (const HeapRoot::Kind kind : {HeapRoot::Kind::static_field, HeapRoot::Kind::thread_static,
                                      HeapRoot::Kind::handle, HeapRoot::Kind::finalizer}) {
      if (!kind_.empty() && kind_ != to_string(kind)) continue;
      const std::vector<HeapRoot> roots = holders.roots_of(kind, [&] { return !out.interrupted(); });
      for (const HeapRoot& root : roots) {
        if (out.interrupted()) return;
        const std::string type = holders.type_of(root.object);
        if (json_)
          list.add(root_json(root, type));
        else
          out.line("  {:<48} {:#018x} {}", root_text(root), root.object, type);
      }
      if (!json_) out.line("{} {}", roots.size(), noun(kind, roots.size() == 1));
    }
    for (const std::string& note : holders.notes()) out.warning(note);
    for (const std::string& text : session.heap().warnings()) out.warning(text);
  }

  static std::string_view noun(HeapRoot::Kind kind, bool one) {
    switch (kind) {
    case HeapRoot::Kind::handle:
      return one ? "handle" : "handles";
    case HeapRoot::Kind::finalizer:
      return one ? "due finalizer" : "due finalizers";
    case HeapRoot::Kind::static_field:
      return one ? "static field" : "static fields";
    case HeapRoot::Kind::thread_static:
      return one ? "array of thread statics" : "arrays of thread statics";
    case HeapRoot::Kind::stack:
      break;
    }
    return one ? "root" : "roots";
  }

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
