#include "core/report/exception_report.h"

#include "core/report/json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace clr {

ExceptionReporter::ExceptionReporter(Runtime& runtime)
    : runtime_(&runtime), reader_(*runtime.target(), [names = runtime.names()](Address method_table) {
        return names->type_name(method_table);
      }) {}

ExceptionReport ExceptionReporter::read(Address object) {
  ExceptionReport report{.exception = reader_.read(object), .trace = {}};
  for (const TraceElement& element : report.exception.trace) {
    TraceRow row{.element = element, .answer = {}, .text = {}};
    // A stored return address lies behind its call, unless the runtime has already moved it to the call.
    const Address lookup = element.adjusted() || element.ip == 0 ? element.ip : element.ip - 1;
    runtime::Answer answer = runtime_->resolve(lookup);
    runtime_->add_source(answer);
    if (auto* method = std::get_if<MethodAnswer>(&answer.result)) {
      row.answer = std::move(*method);
      if (row.answer.code.offset) *row.answer.code.offset += element.ip - lookup;
    } else {
      row.answer.method = runtime_->describe(element.method_desc);
    }
    row.text = fmt::format("{:#018x} {}{}", element.ip, method_and_offset(row.answer.method, row.answer.code),
                           source_position(row.answer.source));
    report.trace.push_back(std::move(row));
  }
  return report;
}

std::vector<ExceptionReport> ExceptionReporter::chain(Address object) {
  std::vector<ExceptionReport> reports;
  std::set<Address> seen;
  while (object != 0 && reports.size() < max_inner) {
    if (!seen.insert(object).second) {
      reports.back().exception.fault += "the chain of inner exceptions loops";
      break;
    }
    if (reports.empty()) {
      reports.push_back(read(object));
    } else {
      try {
        reports.push_back(read(object));
      } catch (const std::exception& error) {
        reports.back().exception.fault += fmt::format("inner exception: {}", error.what());
        break;
      }
    }
    object = reports.back().exception.inner;
  }
  return reports;
}

ExceptionReporter::OfThread ExceptionReporter::of_thread(const RuntimeThread& thread) {
  OfThread found;
  found.last_thrown = thread.last_thrown;
  try {
    ExceptionReader::InFlight in_flight = reader_.in_flight(thread.exception_tracker);
    found.in_flight = std::move(in_flight.objects);
    found.problem = std::move(in_flight.problem);
  } catch (const std::exception& error) {
    found.problem = error.what();
  }
  return found;
}

nlohmann::ordered_json to_json(const ExceptionReport& report) {
  const ManagedException& exception = report.exception;
  Json json;
  json["address"] = hex(exception.object);
  json["method_table"] = hex(exception.method_table);
  json["type"] = exception.type ? Json(*exception.type) : Json(nullptr);
  json["message"] = exception.message ? Json(*exception.message) : Json(nullptr);
  json["hresult"] =
      exception.hresult ? Json(hex(static_cast<std::uint32_t>(*exception.hresult))) : Json(nullptr);
  if (exception.inner != 0) json["inner"] = hex(exception.inner);
  Json trace = Json::array();
  for (const TraceRow& row : report.trace) {
    Json element;
    element["ip"] = hex(row.element.ip);
    element["sp"] = hex(row.element.sp);
    element["text"] = row.text;
    element["method"] = to_json(row.answer.method);
    if (row.answer.code.start != 0) element["code"] = to_json(row.answer.code);
    if (row.answer.source) element["source"] = to_json(*row.answer.source);
    trace.push_back(std::move(element));
  }
  json["trace"] = std::move(trace);
  if (!exception.remote_trace.empty()) json["remote_trace"] = exception.remote_trace;
  if (!exception.fault.empty()) json["fault"] = exception.fault;
  return json;
}

} // namespace clr
