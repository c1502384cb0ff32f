#include "core/report/thread_report.h"

#include "core/report/json_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace clr {

std::string ThreadReport::fault() const {
  if (problem.empty() || problem == thread->fault) return thread->fault;
  return thread->fault.empty() ? problem : fmt::format("{}; {}", thread->fault, problem);
}

ThreadReport report_thread(const RuntimeThread& thread, unsigned index, ExceptionReporter& exceptions) {
  ThreadReport report{.thread = &thread, .index = index, .exception = std::nullopt};
  const ExceptionReporter::OfThread found = exceptions.of_thread(thread);
  report.in_flight = !found.in_flight.empty();
  report.problem = found.problem;
  if (found.current() == 0) return report;
  try {
    report.exception = exceptions.summary(found.current());
  } catch (const std::exception& error) {
    report.exception.emplace().exception.object = found.current();
    report.exception->exception.fault = error.what();
  }
  return report;
}

std::string thread_words(const ThreadReport& report) {
  const RuntimeThread& thread = *report.thread;
  std::string text = thread.name.value_or("");
  if (thread.state && *thread.state != 0) {
    const std::vector<std::string> words = state_words(*thread.state);
    if (!words.empty()) text += fmt::format("{}({})", text.empty() ? "" : " ", fmt::join(words, ", "));
  }
  if (report.exception) {
    const ManagedException& exception = report.exception->exception;
    text += fmt::format("{}{} {:#x}", report.in_flight ? " exception " : " last thrown ",
                        exception.type.value_or("of unknown type"), exception.object);
  }
  return text;
}

std::string wait_words(const ThreadWait& wait, LockReporter& locks) {
  const std::string text = locks.wait_text(wait);
  if (text.empty()) return wait.what == ThreadWait::What::running ? "runs" : "";
  const bool waits = wait.what == ThreadWait::What::objects || wait.what == ThreadWait::What::native;
  return fmt::format("{}{}{}", wait.certain ? "" : "probably ", waits ? "waits for " : "", text);
}

Json to_json(const ThreadReport& report) {
  const RuntimeThread& thread = *report.thread;
  Json json;
  if (report.index != 0) json["index"] = report.index;
  json["os_id"] = value_or_null(thread.os_id);
  json["managed_id"] = value_or_null(thread.managed_id);
  json["name"] = value_or_null(thread.name);
  json["address"] = hex(thread.address);
  json["state"] = thread.state ? Json(state_words(*thread.state)) : Json(nullptr);
  json["gc_mode"] =
      thread.cooperative ? Json(*thread.cooperative ? "cooperative" : "preemptive") : Json(nullptr);
  if (report.exception) {
    const ManagedException& exception = report.exception->exception;
    Json value;
    value["type"] = value_or_null(exception.type);
    value["message"] = value_or_null(exception.message);
    value["address"] = hex(exception.object);
    if (!exception.fault.empty()) value["fault"] = exception.fault;
    json[report.in_flight ? "exception" : "last_thrown"] = std::move(value);
  }
  if (const std::string fault = report.fault(); !fault.empty()) json["fault"] = fault;
  return json;
}

} // namespace clr
