// clr threads: the runtime's threads.
#include "core/runtime/exception_report.h"
#include "core/runtime/json.h"
#include "extension/command.h"
#include "extension/presence.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::lldb_plugin {

namespace {

class Threads final : public CommandRun {
public:
  explicit Threads(CLI::App& app) { app.add_flag("-j,--json", json_, "print JSON"); }

  void run(Invocation& invocation) override {
    Session& session = invocation.session();
    Output& out = invocation.out;
    require_runtime(session.runtime());
    const ThreadList& threads = session.stacks().threads();
    ExceptionReporter exceptions(session.runtime());
    lldb::SBProcess process = session.target().GetProcess();
    JsonList list([&](std::string_view text) { out.write(text); });
    if (!json_)
      out.line("{:>5} {:>8} {:>7} {:<11} {:<18} {}", "index", "os id", "managed", "GC mode", "Thread",
               "name, state, exception");
    for (const RuntimeThread& thread : threads.threads) {
      if (out.interrupted()) break;
      const Row row = describe(thread, exceptions, process);
      if (json_)
        list.add(to_json(row));
      else
        print(out, row);
    }
    if (json_) {
      list.end();
      out.write("\n");
    }
    if (!threads.problem.empty())
      out.warning(fmt::format("the list of threads is not whole: {}", threads.problem));
  }

private:
  struct Row {
    const RuntimeThread* thread;
    std::uint32_t index = 0; // LLDB's; 0: it has no such thread
    std::optional<ExceptionReport> exception;
    bool in_flight = false;
  };

  static Row describe(const RuntimeThread& thread, ExceptionReporter& exceptions, lldb::SBProcess& process) {
    Row row{.thread = &thread, .exception = std::nullopt};
    if (thread.os_id.value_or(0) != 0) {
      lldb::SBThread known = process.GetThreadByID(*thread.os_id);
      if (known.IsValid()) row.index = known.GetIndexID();
    }
    const ExceptionReporter::OfThread found = exceptions.of_thread(thread);
    row.in_flight = !found.in_flight.empty();
    if (found.current() == 0) return row;
    try {
      row.exception = exceptions.read(found.current());
    } catch (const std::exception& error) {
      row.exception.emplace().exception.object = found.current();
      row.exception->exception.fault = error.what();
    }
    return row;
  }

  static Json to_json(const Row& row) {
    const RuntimeThread& thread = *row.thread;
    Json json;
    if (row.index != 0) json["index"] = row.index;
    json["os_id"] = thread.os_id ? Json(*thread.os_id) : Json(nullptr);
    json["managed_id"] = thread.managed_id ? Json(*thread.managed_id) : Json(nullptr);
    json["name"] = thread.name ? Json(*thread.name) : Json(nullptr);
    json["address"] = hex(thread.address);
    json["state"] = thread.state ? Json(state_words(*thread.state)) : Json(nullptr);
    json["gc_mode"] =
        thread.cooperative ? Json(*thread.cooperative ? "cooperative" : "preemptive") : Json(nullptr);
    if (row.exception) {
      const ManagedException& exception = row.exception->exception;
      Json value;
      value["type"] = exception.type ? Json(*exception.type) : Json(nullptr);
      value["message"] = exception.message ? Json(*exception.message) : Json(nullptr);
      value["address"] = hex(exception.object);
      if (!exception.fault.empty()) value["fault"] = exception.fault;
      json[row.in_flight ? "exception" : "last_thrown"] = std::move(value);
    }
    if (!thread.fault.empty()) json["fault"] = thread.fault;
    return json;
  }

  static void print(Output& out, const Row& row) {
    const RuntimeThread& thread = *row.thread;
    const auto number = [](const auto& value) {
      return value ? fmt::format("{}", *value) : std::string("?");
    };
    std::string text = thread.name.value_or("");
    if (thread.state && *thread.state != 0) {
      const std::vector<std::string> words = state_words(*thread.state);
      if (!words.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", fmt::join(words, ", "));
    }
    if (row.exception) {
      const ManagedException& exception = row.exception->exception;
      text += fmt::format("{}{} {:#x}", row.in_flight ? " exception " : " last thrown ",
                          exception.type.value_or("of unknown type"), exception.object);
    }
    if (!thread.fault.empty()) text += fmt::format(" (fault: {})", thread.fault);
    out.line("{:>5} {:>8} {:>7} {:<11} {:<#18x} {}", row.index == 0 ? "-" : fmt::format("#{}", row.index),
             number(thread.os_id), number(thread.managed_id),
             thread.cooperative ? (*thread.cooperative ? "cooperative" : "preemptive") : "?", thread.address,
             printable(text));
  }

  bool json_ = false;
};

} // namespace

CommandSpec threads_command() {
  return {"threads", nullptr, "List the runtime's threads: ids, name, state, GC mode, exception.", "[-j]",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Threads>(app); }};
}

} // namespace clr::lldb_plugin
