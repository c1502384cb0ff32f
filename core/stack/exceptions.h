// Managed exception objects and the exceptions in flight on a thread.
// Source: dotnet/runtime docs/design/datacontracts/Exception.md; src/coreclr/vm/clrex.h.
#pragma once

#include "core/target/target.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// One element of an exception's stack trace array.
struct TraceElement {
  Address ip = 0;            // as stored
  std::optional<Address> sp; // nothing: this runtime does not tell
  Address method_desc = 0;
  std::uint32_t flags = 0;
  bool adjusted() const { return (flags & 2) != 0; }     // ip is already inside the call instruction
  bool ends_foreign() const { return (flags & 1) != 0; } // last frame of a trace captured elsewhere
};

struct ManagedException {
  Address object = 0;
  Address method_table = 0;
  std::optional<std::string> type;    // full name; nothing when it could not be read
  std::optional<std::string> message; // nothing when null (the type then makes up its own text) or unreadable
  std::optional<std::int32_t> hresult;
  Address inner = 0;               // InnerException; 0 none
  std::vector<TraceElement> trace; // throwing frame first
  std::size_t trace_left_out = 0;  // frames behind these that were not wanted
  std::string remote_trace;        // text of a part that was thrown elsewhere
  std::string fault;               // what could not be read; empty when everything could
};

class ExceptionReader {
public:
  // Full name of the type of a MethodTable; throws Error when it has none (MethodNames::type_name).
  using TypeNamer = std::function<std::string(Address method_table)>;

  // `target` must outlive this. No reads.
  ExceptionReader(const Target& target, TypeNamer type_name);

  // Reads the exception object at `object`. Unreadable parts are left empty and told in `fault`. Throws Error
  // only when the object itself cannot be read or is no exception (corrupt).
  ManagedException read(Address object) const;
  // The same with no more than the first `max_elements` of the trace, and no more than the first `max_units`
  // UTF-16 units of the message and of the trace's text, with " ..." behind what is cut.
  ManagedException read(Address object, std::size_t max_elements, std::size_t max_units) const;
  // The same without the trace and its text, and with no more than the first max_summary_units of the
  // message and " ..." behind them: for lists of threads and tasks, which may all have one and the same
  // exception.
  ManagedException summary(Address object) const;

  struct InFlight {
    std::vector<Address> objects; // newest first
    std::string problem;          // why the chain ends early; empty when it is whole
  };
  // Exceptions in flight on a thread (the ExInfo chain from Thread.ExceptionTracker). None in flight: an
  // empty list; Thread.LastThrownObject may be stale and is the caller's to show. At most max_nested, and
  // max_shared_nested of all threads that this object is asked about.
  InFlight in_flight(Address exception_tracker);

  static constexpr std::size_t max_nested = 256, max_trace = 100'000;
  static constexpr std::size_t max_shared_nested = 50'000;
  static constexpr std::size_t max_summary_units = 1024; // UTF-16 units of a message

private:
  void read_parts(ManagedException& exception, std::size_t max_units) const;

  const Target* target_;
  TypeNamer type_name_;
  std::size_t nested_ = 0; // records of exceptions in flight that were looked at
};

} // namespace clr
