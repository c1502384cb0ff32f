#include "core/report/crash_text.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"
#include "core/report/exception_report.h"
#include "core/report/fail_fast.h"
#include "core/waits/blocked_threads.h"

#include <fmt/format.h>

namespace clr {
namespace {

std::string message_text(std::string_view message) {
  const std::string_view line = message.substr(0, message.find_first_of("\r\n"));
  const std::string_view part = cut_utf8(line, max_crash_message);
  return part.empty() ? "" : fmt::format(" ({}{})", part, part.size() < message.size() ? "..." : "");
}

// " in Ns.Orders.Find(int) at Orders.cs:31:9".
std::string place_text(const std::vector<TraceRow>& trace) {
  if (trace.empty()) return "";
  const TraceRow* told = &trace.front();
  for (const TraceRow& row : trace)
    if (!is_framework_module(row.answer.method.module.str())) {
      told = &row;
      break;
    }
  return fmt::format(" in {}{}", told->answer.method.shown_name(), source_position(told->answer.source));
}

std::string exception_sentence(Runtime& runtime, const RuntimeThread& thread) {
  ExceptionReporter reporter(runtime);
  const std::vector<Address> in_flight = reporter.of_thread(thread).in_flight;
  if (in_flight.empty()) return "";
  try {
    const ExceptionReport report = reporter.read(in_flight.front());
    return fmt::format("{}{}{}", report.exception.type.value_or("an exception of unknown type"),
                       message_text(report.exception.message.value_or("")), place_text(report.trace));
  } catch (const Error&) {
    return fmt::format("an exception at {:#x} that cannot be read", in_flight.front());
  }
}

} // namespace

std::string crash_text(Runtime& runtime, StackReporter& stacks, const RegisterContext& start,
                       std::uint64_t os_id, std::string_view how) {
  std::string why;
  if (runtime.absence() == nullptr) {
    if (const RuntimeThread* const thread = stacks.thread_of(os_id))
      why = exception_sentence(runtime, *thread);
    if (why.empty())
      if (const auto message = fail_fast_message(runtime, stacks, start, os_id))
        why = fmt::format("Environment.FailFast({})", *message);
  }
  return why.empty() ? std::string(how) : fmt::format("{}; {}", why, how);
}

} // namespace clr
