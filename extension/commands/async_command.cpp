// clr async: the async methods that wait, and for what.
#include "core/memory/count_text.h"
#include "core/report/answer_json.h"
#include "core/report/async_json.h"
#include "core/report/json.h"
#include "core/runtime/presence.h"
#include "extension/commands/address_argument.h"
#include "extension/commands/command.h"
#include "extension/commands/heap_text.h"
#include "extension/commands/parser.h"
#include "extension/commands/text.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {

class Async final : public CommandRun {
public:
  explicit Async(CLI::App& app) {
    auto* const each = app.add_flag("-e,--each", query_.each, "Show every chain; equal ones are not merged.");
    auto* const tops =
        app.add_flag("-t,--tops", query_.tops, "Show only the last method of each chain, with a count.")
            ->excludes(each);
    app.add_flag("-a,--all", all_,
                 "Show chains that have only methods of .NET's own libraries, too. JSON always has them.");
    app.add_option("-m,--method", query_.glob,
                   "Chains with a method whose name matches this pattern, with * and ?.")
        ->type_name("GLOB");
    auto* const waiting_on =
        app.add_option("-w,--waiting-on", waiting_on_,
                       "Chains that wait for the object at this address, or that its method is part of.")
            ->type_name("ADDR");
    app.add_flag("-f,--faulted", faulted_,
                 "Show tasks that failed, first those whose failure nobody has asked for.")
        ->excludes(each)
        ->excludes(tops)
        ->excludes(waiting_on);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    if (!waiting_on_.empty()) query_.waiting_on = evaluate_address(session.target(), waiting_on_);
    WaitObjects& objects = session.waits();
    AsyncReporter reporter(objects);
    reporter.set_threads(session.thread_tops());
    reporter.set_stacks(session.stacks());
    const HeapWalkOptions options = walk_options(out);
    if (faulted_) {
      const std::vector<FaultedTask> tasks = reporter.faulted(query_, options);
      show_faulted(tasks, !objects.last().interrupted && objects.last().gaps.empty(), out);
    } else {
      const AsyncReport report = reporter.stacks(query_, options);
      show(report, !objects.last().gaps.empty(), out);
    }
    if (const std::string text = objects.unknown_types(); !text.empty()) out.warning(text);
    if (objects.last().interrupted) out.warning("chains are of the part of the heap that was looked at");
    warn_of_heap(out, session.heap(), objects.last().gaps);
  }

private:
  void show(const AsyncReport& report, bool gaps, Output& out) const {
    if (json_) {
      const bool complete = !report.left_out && !report.interrupted && report.unreadable == 0 && !gaps;
      print_list("stacks", report.stacks, complete, out);
    } else {
      for (const AsyncStack& stack : report.stacks)
        if (all_ || !stack.plumbing) print(stack, out);
      std::size_t count = 0, plumbing = 0; // of those that are asked for
      for (const AsyncStack& stack : report.stacks) {
        count += stack.count();
        if (stack.plumbing) plumbing += stack.count();
      }
      if (plumbing != 0 && !all_)
        out.line("{} of .NET's own libraries: --all shows {}", count_text(plumbing, "chain"),
                 plumbing == 1 ? "it" : "them");
      const bool chosen = !query_.glob.empty() || query_.waiting_on;
      out.line("{}{} of async methods that wait{}", chosen ? fmt::format("{} of ", count) : "",
               count_text(report.chains, "chain"), whole_text_hint(count, query_.glob));
    }
    if (report.left_out) out.warning("there are more chains than are shown");
    if (report.unreadable != 0)
      out.warning(fmt::format("{} tasks and async methods cannot be read, the first because: {}",
                              report.unreadable, report.first_fault));
  }

  void print(const AsyncStack& stack, Output& out) const {
    if (stack.count() > 1) out.line("{} times:", stack.count());
    out.line("waits for {}{}", text_with_object(stack.waits_for),
             stack.age_ms ? fmt::format(", {}for {} ms at least", stack.count() > 1 ? "the oldest " : "",
                                        *stack.age_ms)
                          : "");
    for (const AsyncFrame& frame : stack.frames)
      out.line("  {:#018x} {}", frame.box, text_of(*frame.position));
    const std::string end = end_text(stack);
    if (!end.empty()) out.line("  {}", end);
    out.line("");
  }

  void show_faulted(const std::vector<FaultedTask>& tasks, bool complete, Output& out) const {
    if (json_) {
      print_list("faulted", tasks, complete, out);
      return;
    }
    for (const FaultedTask& task : tasks) {
      out.line("{:#018x} {}{}", task.task, task.method ? task.method->shown_name() : task.type,
               task.observed ? "" : " (nobody asked for it)");
      if (task.exception != 0)
        out.line("  {:#018x} {}: {}", task.exception, task.exception_type, task.message);
      if (!task.fault.empty()) out.line("  {}", task.fault);
    }
    out.line("{} that failed{}", count_text(tasks.size(), "task"),
             whole_text_hint(tasks.size(), query_.glob));
  }

  template<typename Row>
  static void print_list(std::string_view name, const std::vector<Row>& rows, bool complete, Output& out) {
    out.write(fmt::format("{{\"complete\": {}, \"{}\": ", complete, name));
    JsonList list([&](std::string_view text) { out.write(text); });
    for (const Row& row : rows) list.add_text(json_text(row));
    list.end();
    out.write("}\n");
  }

  AsyncQuery query_;
  std::string waiting_on_;
  bool all_ = false, faulted_ = false, json_ = false;
};

} // namespace

CommandSpec async_command() {
  return {"async",
          "dumpasync",
          "Show the async methods that wait: each with those that wait for it, and what it awaits.",
          "clr async --method *Orders*",
          "shows the chains that a method with Orders in its name is part of.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Async>(app); }};
}

} // namespace clr::lldb_plugin
