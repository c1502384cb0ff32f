// The method stores of all processes of a trace.
#pragma once

#include "core/symbols/method_store.h"
#include "core/symbols/net_trace.h"

#include <map>

namespace clr {

struct TraceMethods {
  // By process id. The id is 0 when the file states none.
  std::map<std::uint64_t, MethodStore> processes;
  TraceReport trace;
  // Events that were used. Beyond NetTrace::max_faults damaged ones no further are.
  std::uint64_t method_events = 0, module_events = 0;
  // The runtime listed all code that existed at the end. Without that list, methods that existed before the
  // collection began have no names: the collection was cut off instead of stopped, or its rundown was
  // switched off.
  bool rundown_complete = false;
  symbols::Malformed malformed; // of the events' payloads; places are file offsets

  // The store of a process; without an id, the store of the only process. Null when there is none or the
  // choice is not clear.
  const MethodStore* of_process(std::optional<std::uint64_t> id) const;

  static constexpr std::size_t max_processes = 1u << 16; // events of further processes are only counted
};

// Reads a trace once, from the first byte to the last. `progress` gets the number of bytes read and the size
// of the file. When it returns false, reading stops (trace.stopped), and the part that was read is used.
// Exceptions from `progress` pass through.
TraceMethods read_trace_methods(const NetTrace& trace,
                                const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});

} // namespace clr
