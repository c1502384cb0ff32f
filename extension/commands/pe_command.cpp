// clr pe: print a managed exception.
#include "core/report/json.h"
#include "core/report/json_writer.h"
#include "core/runtime/presence.h"
#include "extension/breakpoints/managed_throws.h"
#include "extension/commands/command.h"
#include "extension/commands/exception_text.h"
#include "extension/commands/object_argument.h"
#include "extension/commands/parser.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class PrintException final : public CommandRun {
public:
  explicit PrintException(CLI::App& app) {
    auto* const address = app.add_option(
        "ADDRESS", address_,
        "The address of an exception object, or a variable; the selected thread's exception by default.");
    app.add_flag("-n,--nested", nested_, "Print every exception that is in flight on the selected thread.")
        ->excludes(address);
    add_json(app, json_);
  }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    ExceptionReporter reporter = exceptions_of(session);
    JsonList list([&](std::string_view text) { out.write(text); });
    for (const Address object : objects(session, reporter, out)) {
      if (out.interrupted()) break;
      const std::vector<ExceptionReport> tree = reporter.tree(object);
      if (!json_) {
        out.write(describe(tree));
        continue;
      }
      list.next();
      std::string text;
      JsonWriter exceptions(text);
      exceptions.begin_object();
      exceptions.key("exceptions");
      exceptions.begin_array();
      for (const ExceptionReport& report : tree) {
        if (out.interrupted()) break;
        exceptions.raw(exception_json(report));
        out.write(text);
        text.clear();
      }
      exceptions.end_array();
      exceptions.end_object();
      out.write(text);
    }
    if (!json_) return;
    list.end();
    out.write("\n");
  }

private:
  std::vector<Address> objects(Session& session, ExceptionReporter& reporter, Output& out) const {
    if (!address_.empty()) return {evaluate_object(session.target(), address_)};
    lldb::SBThread thread = session.target().GetProcess().GetSelectedThread();
    if (const Address thrown = ManagedThrows::thrown_by(session, thread); thrown != 0) {
      if (!json_) out.line("(it is being thrown, and no handler was looked for yet)");
      return {thrown};
    }
    const RuntimeThread* known = session.stacks().thread_of(thread.GetThreadID());
    if (known == nullptr)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("the runtime does not know thread #{}", thread.GetIndexID()));
    const ExceptionReporter::OfThread found = reporter.of_thread(*known);
    if (!found.problem.empty()) out.warning(found.problem);
    if (nested_ && !found.in_flight.empty()) return found.in_flight;
    if (found.current() == 0)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("thread #{} has no exception", thread.GetIndexID()));
    if (found.in_flight.empty() && !json_)
      out.line("(no exception is in flight; the last one that was thrown:)");
    return {found.current()};
  }

  std::string address_;
  bool nested_ = false, json_ = false;
};

} // namespace

CommandSpec pe_command() {
  return {"pe",
          nullptr,
          "Print a managed exception: its type, its message, its stack trace and its inner exceptions.",
          "clr pe --nested",
          "prints every exception in flight on the selected thread.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<PrintException>(app); }};
}

} // namespace clr::lldb_plugin
