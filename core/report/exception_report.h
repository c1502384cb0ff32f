// Managed exceptions, with names for the methods of their stack traces.
#pragma once

#include "core/runtime/stack_reporter.h"
#include "core/stack/exceptions.h"
#include "core/stack/threads.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace clr {

struct TraceRow {
  TraceElement element;
  MethodAnswer answer; // found by the element's MethodDesc when its ip no longer belongs to any code
  // What shared generic code of `answer` ran; null when nothing more is known.
  std::shared_ptr<const Instantiation> exact;
  std::string text; // "0x00007f... app.dll`Ns.Type.Run() + 12"
};

struct ExceptionReport {
  ManagedException exception;
  std::vector<TraceRow> trace; // the frame that threw comes first
  // All inner exceptions of an AggregateException, the first of which is also ManagedException::inner; empty
  // for other exceptions.
  std::vector<Address> inner_exceptions;
  // Where it stands in tree(): below how many others, and which inner exception it is of how many.
  unsigned depth = 0;
  std::size_t number = 1, of = 1;
};

class ExceptionReporter {
public:
  // Calls `visit` with the frames of the thread with kernel id `os_id`, innermost first, until it returns
  // false. It may throw Error.
  using Walk = std::function<void(std::uint64_t os_id, const std::function<bool(const FrameRow&)>& visit)>;

  // `runtime` must outlive this and have no absence(). No reads.
  explicit ExceptionReporter(Runtime& runtime);
  // The same; tree() looks at the frames of the thread on which its exception is in flight, too. `stacks`
  // must outlive this.
  ExceptionReporter(Runtime& runtime, StackReporter& stacks, Walk walk);

  // The exception object at `object`. Throws Error when it cannot be read or is no exception.
  ExceptionReport read(Address object);
  // As ExceptionReader::summary.
  ExceptionReport summary(Address object) {
    return {.exception = reader_.summary(object), .trace = {}, .inner_exceptions = {}};
  }
  // `object` and all its inner exceptions, each before those within it, at most max_inner. What cannot be
  // read is stored in ManagedException::fault of the exception around it. Throws as read() does for `object`
  // itself. An element of a trace names shared code alone; of an exception in flight its frame still stands,
  // so that TraceRow::exact can be told by it: the frame with the stack pointer and the instruction of the
  // element. Cost: that of read(), and of one walk when the trace of `object` has shared code.
  std::vector<ExceptionReport> tree(Address object);

  // The exceptions in flight on `thread`, newest first. `last_thrown` is set when there is none; that
  // exception may have been handled already.
  struct OfThread {
    std::vector<Address> in_flight;
    Address last_thrown = 0;
    std::string problem;
    // The object to show first; 0 when the thread has none.
    Address current() const { return in_flight.empty() ? last_thrown : in_flight.front(); }
  };
  // Never throws.
  OfThread of_thread(const RuntimeThread& thread);

  static constexpr std::size_t max_inner = 1'000;

private:
  std::vector<Address> aggregated(const ManagedException& exception);
  void add_standing(ExceptionReport& report);
  std::optional<std::uint64_t> thread_of(Address object);

  Runtime* runtime_;
  StackReporter* stacks_ = nullptr;
  Walk walk_;
  ExceptionReader reader_;
};

nlohmann::ordered_json to_json(const ExceptionReport& report);

} // namespace clr
