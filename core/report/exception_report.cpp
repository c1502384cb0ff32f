#include "core/report/exception_report.h"

#include "core/memory/count_text.h"
#include "core/objects/instance_reader.h"
#include "core/report/json.h"
#include "core/report/json_writer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace clr {

ExceptionReporter::ExceptionReporter(Runtime& runtime) : ExceptionReporter(runtime, Limits{}) {}

ExceptionReporter::ExceptionReporter(Runtime& runtime, const Limits& limits)
    : runtime_(&runtime),
      reader_(*runtime.target(),
              [names = runtime.names()](Address method_table) { return names->type_name(method_table); }),
      limits_(limits), room_{.trace = limits.all_trace, .text = limits.all_text} {}

ExceptionReporter::ExceptionReporter(Runtime& runtime, StackReporter& stacks, Walk walk)
    : ExceptionReporter(runtime) {
  stacks_ = &stacks;
  walk_ = std::move(walk);
}

namespace {
// The address at which the method is looked up: a stored return address lies behind its call, unless the
// runtime has already moved it to the call.
Address lookup_address(const TraceElement& element) {
  return element.adjusted() || element.ip == 0 ? element.ip : element.ip - 1;
}

std::string trace_text(const TraceRow& row) {
  return fmt::format("{:#018x} {}{}", row.element.ip,
                     method_and_offset(row.exact ? row.exact->method : row.answer.method, row.answer.code),
                     source_position(row.answer.source));
}

void add_fault(ExceptionReport& report, const std::string& text) {
  std::string& faults = report.exception.fault;
  faults += fmt::format("{}{}", faults.empty() ? "" : "; ", text);
}
} // namespace

ExceptionReport ExceptionReporter::read(Address object) {
  Room whole{.trace = limits_.tree_trace, .text = limits_.tree_text};
  return read(object, whole);
}

ExceptionReport ExceptionReporter::read(Address object, Room& of_tree) {
  const bool of_all = room_.trace < of_tree.trace; // which of the limits may cut the trace
  const bool has_room = of_tree.text != 0 && room_.text != 0;
  ExceptionReport report{.exception = reader_.read(object, std::min(of_tree.trace, room_.trace),
                                                   has_room ? max_tree_text : reader_.max_summary_units),
                         .trace = {}};
  const ManagedException& exception = report.exception;
  if (exception.trace_left_out != 0)
    add_fault(report, fmt::format("{} of its stack trace {} left out: {}",
                                  count_text(exception.trace_left_out, "more frame"),
                                  exception.trace_left_out == 1 ? "is" : "are",
                                  of_all ? fmt::format("all exceptions have more than {}", limits_.all_trace)
                                         : fmt::format("it and the exceptions around it have more than {}",
                                                       limits_.tree_trace)));
  const std::size_t text = exception.message.value_or("").size() + exception.remote_trace.size();
  for (Room* const room : {&of_tree, &room_}) {
    room->trace -= exception.trace.size();
    room->text -= std::min(room->text, text);
  }
  for (const TraceElement& element : report.exception.trace) {
    TraceRow row{.element = element, .answer = {}, .exact = {}, .text = {}};
    const Address lookup = lookup_address(element);
    runtime::Answer answer = runtime_->resolve(lookup);
    runtime_->add_source(answer);
    if (auto* method = std::get_if<MethodAnswer>(&answer.result)) {
      row.answer = std::move(*method);
      if (row.answer.code.offset) *row.answer.code.offset += element.ip - lookup;
    } else {
      row.answer.method = runtime_->describe(element.method_desc);
    }
    row.text = trace_text(row);
    report.trace.push_back(std::move(row));
  }
  return report;
}

std::vector<Address> ExceptionReporter::aggregated(const ManagedException& exception) {
  std::vector<Address> inner;
  InstanceReader instances(*runtime_->objects());
  const Instance object = instances.of_object(exception.object);
  // Exceptions of the user's may have a field of this name, too.
  if (!instances.derives_from(object.layout, "System.AggregateException")) return inner;
  const auto list = instances.find(object, "_innerExceptions");
  if (!list || !list->field->type->is_reference()) return inner;
  const Address array = instances.target().read_pointer(list->at);
  if (array == 0) return inner;
  const InstanceReader::Vector elements = instances.vector(array);
  for (std::uint32_t i = 0; i < elements.count && i <= max_inner; ++i) // one more: that there are is told
    if (const Address one = instances.target().read_pointer(elements.at(i)); one != 0) inner.push_back(one);
  return inner;
}

// The thread on which the exception is in flight.
std::optional<std::uint64_t> ExceptionReporter::thread_of(Address object) {
  if (!threads_) {
    threads_.emplace();
    for (const RuntimeThread& thread : stacks_->threads().threads)
      if (thread.os_id.value_or(0) != 0)
        for (const Address one : of_thread(thread).in_flight) threads_->emplace(one, *thread.os_id);
  }
  const auto found = threads_->find(object);
  return found == threads_->end() ? std::nullopt : std::optional(found->second);
}

void ExceptionReporter::add_standing(ExceptionReport& report) {
  if (stacks_ == nullptr) return;
  // Frames from elsewhere stand nowhere; what has their stack pointer by now is another call.
  auto first = report.trace.begin();
  for (auto row = report.trace.begin(); row != report.trace.end(); ++row)
    if (row->element.ends_foreign()) first = row + 1;
  std::map<Address, std::vector<TraceRow*>> wanted; // by stack pointer
  for (auto row = first; row != report.trace.end(); ++row)
    if (row->element.sp && is_shared(row->answer.method)) wanted[*row->element.sp].push_back(&*row);
  const auto os_id = wanted.empty() ? std::nullopt : thread_of(report.exception.object);
  if (!os_id) return;
  const auto compare = [&](const FrameRow& frame) {
    if (standing_frames_ == max_standing_frames) {
      add_fault(report, fmt::format("what its shared code ran was not looked for: more than {} frames",
                                    max_standing_frames));
      return false;
    }
    ++standing_frames_;
    const auto rows = frame.exact && frame.sp ? wanted.find(*frame.sp) : wanted.end();
    if (rows == wanted.end()) return true;
    for (TraceRow* const row : rows->second) {
      const Address lookup = lookup_address(row->element);
      if ((frame.ip != lookup && frame.ip != lookup + 1) ||
          frame.answer->method.method_desc != row->answer.method.method_desc)
        continue;
      row->exact = frame.exact;
      row->text = trace_text(*row);
    }
    return true;
  };
  try {
    walk_(*os_id, compare);
  } catch (const Error&) {
    // A core may lack the thread's registers; the shared names are true, too.
  }
}

std::vector<ExceptionReport> ExceptionReporter::tree(Address object) {
  struct Waiting {
    Address object = 0;
    unsigned depth = 0;
    std::size_t number = 1, of = 1;
    std::size_t parent = 0; // index of the report around it
  };
  std::vector<ExceptionReport> reports;
  std::set<Address> seen;
  std::vector<Waiting> waiting{{.object = object}};
  Room room{.trace = limits_.tree_trace, .text = limits_.tree_text};
  while (!waiting.empty()) {
    const Waiting next = waiting.back();
    waiting.pop_back();
    const auto fault = [&](const std::string& text) { add_fault(reports[next.parent], text); };
    if (reports.size() > max_inner) {
      fault(fmt::format("more than {} inner exceptions", max_inner));
      break;
    }
    if (!seen.insert(next.object).second) {
      fault(fmt::format("the inner exception {:#x} stands in this tree already", next.object));
      continue;
    }
    try {
      ExceptionReport report = read(next.object, room);
      report.depth = next.depth;
      report.number = next.number;
      report.of = next.of;
      reports.push_back(std::move(report));
    } catch (const std::exception& error) {
      if (reports.empty()) throw;
      fault(fmt::format("inner exception: {}", error.what()));
      continue;
    }
    ExceptionReport& report = reports.back();
    // Those within it were thrown before.
    if (reports.size() == 1) add_standing(report);
    try {
      report.inner_exceptions = aggregated(report.exception);
    } catch (const Error& error) {
      add_fault(report, fmt::format("the list of inner exceptions: {}", error.what()));
    }
    std::vector<Address> inner = report.inner_exceptions;
    if (inner.empty() && report.exception.inner != 0) inner.push_back(report.exception.inner);
    if (inner.size() > limits_.all_inner - inner_) {
      add_fault(report, fmt::format("all exceptions have more than {} inner exceptions", limits_.all_inner));
      inner.resize(limits_.all_inner - inner_);
    }
    inner_ += inner.size();
    for (std::size_t i = inner.size(); i-- > 0;)
      waiting.push_back({.object = inner[i],
                         .depth = next.depth + 1,
                         .number = i + 1,
                         .of = inner.size(),
                         .parent = reports.size() - 1});
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

namespace {

std::string trace_row_json(const TraceRow& row) {
  Json element;
  element["ip"] = hex(row.element.ip);
  element["sp"] = row.element.sp ? Json(hex(*row.element.sp)) : Json(nullptr);
  element["text"] = row.text;
  element["method"] = to_json(row.answer.method);
  if (row.exact)
    element["instantiation"] = Json{{"method", to_json(row.exact->method)}, {"from", origin_of(*row.exact)}};
  if (row.answer.code.start != 0) element["code"] = to_json(row.answer.code);
  if (row.answer.source) element["source"] = to_json(*row.answer.source);
  return dump(element);
}

} // namespace

std::string exception_json(const ExceptionReport& report) {
  const ManagedException& exception = report.exception;
  std::string text;
  JsonWriter json(text);
  const auto known_text = [&](std::string_view name, const std::optional<std::string>& value) {
    json.key(name);
    value ? json.text(*value) : json.null();
  };
  json.begin_object();
  json.hex("address", exception.object);
  json.hex("method_table", exception.method_table);
  known_text("type", exception.type);
  known_text("message", exception.message);
  json.key("hresult");
  exception.hresult ? json.hex(static_cast<std::uint32_t>(*exception.hresult)) : json.null();
  if (exception.inner != 0) json.hex("inner", exception.inner);
  if (!report.inner_exceptions.empty()) {
    json.key("inner_exceptions");
    json.begin_array();
    for (const Address one : report.inner_exceptions) json.hex(one);
    json.end_array();
  }
  json.key("trace");
  json.begin_array();
  for (const TraceRow& row : report.trace) json.raw(trace_row_json(row));
  json.end_array();
  if (!exception.remote_trace.empty()) json.text("remote_trace", exception.remote_trace);
  if (!exception.fault.empty()) json.text("fault", exception.fault);
  json.end_object();
  return text;
}

} // namespace clr
