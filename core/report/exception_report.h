// Managed exceptions, with names for the methods of their stack traces.
#pragma once

#include "core/runtime/stack_reporter.h"
#include "core/stack/exceptions.h"
#include "core/stack/threads.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
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

  // Exceptions of one tree. Of all trees that one reporter makes, inner exceptions that are looked at.
  static constexpr std::size_t max_inner = 1'000, max_all_inner = 50'000;
  // Frames of all traces of one tree: exceptions may share one long trace, and a row of each takes a
  // kilobyte. Of all trees of one reporter: a row takes some microseconds.
  static constexpr std::size_t max_tree_trace = ExceptionReader::max_trace, max_all_trace = 1'000'000;
  // Bytes of all messages and texts of traces of one tree, and of all trees of one reporter. Beyond it the
  // rest is as in summary().
  static constexpr std::size_t max_tree_text = std::size_t{4} << 20, max_all_text = std::size_t{64} << 20;
  // Frames of stacks that one reporter looks at for what shared code ran.
  static constexpr std::size_t max_standing_frames = 500'000;

  struct Limits {
    std::size_t tree_trace = max_tree_trace, all_trace = max_all_trace;
    std::size_t tree_text = max_tree_text, all_text = max_all_text;
    std::size_t all_inner = max_all_inner;
  };

  // `runtime` must outlive this and have no absence(). No reads. What counts for all trees is that of one
  // reporter: a command makes one.
  explicit ExceptionReporter(Runtime& runtime);
  ExceptionReporter(Runtime& runtime, const Limits& limits);
  // The same; tree() looks at the frames of the thread on which its exception is in flight, too. `stacks`
  // must outlive this.
  ExceptionReporter(Runtime& runtime, StackReporter& stacks, Walk walk);

  // The exception object at `object`. Throws Error when it cannot be read or is no exception. Of its trace
  // what max_all_trace leaves, of its texts what max_all_text does.
  ExceptionReport read(Address object);
  // As ExceptionReader::summary.
  ExceptionReport summary(Address object) {
    return {.exception = reader_.summary(object), .trace = {}, .inner_exceptions = {}};
  }
  // `object` and all its inner exceptions, each before those within it, within the limits above. What cannot
  // be read is stored in ManagedException::fault of the exception around it, and what a limit leaves out of a
  // trace in that of the exception itself. Throws as read() does for `object` itself. An element of a trace
  // names shared code alone; of an exception in flight its frame still stands, so that TraceRow::exact can be
  // told by it: the frame with the stack pointer and the instruction of the element. Cost: that of read(),
  // and of one walk when the trace of `object` has shared code; the first of these also that of of_thread()
  // for each thread.
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

private:
  // What may still be read.
  struct Room {
    std::size_t trace = 0, text = 0;
  };
  ExceptionReport read(Address object, Room& of_tree);
  std::vector<Address> aggregated(const ManagedException& exception);
  void add_standing(ExceptionReport& report);
  std::optional<std::uint64_t> thread_of(Address object);

  Runtime* runtime_;
  StackReporter* stacks_ = nullptr;
  Walk walk_;
  ExceptionReader reader_;
  Limits limits_;
  Room room_;
  std::size_t inner_ = 0;           // inner exceptions that were looked at
  std::size_t standing_frames_ = 0; // frames of stacks that were
  // The thread of each exception in flight, once one was wanted.
  std::optional<std::unordered_map<Address, std::uint64_t>> threads_;
};

// An element of "exceptions" in `clr pe --json`, as text: a trace has a hundred thousand elements.
std::string exception_json(const ExceptionReport& report);

} // namespace clr
