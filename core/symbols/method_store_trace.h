// The method stores of all processes of a trace.
#pragma once

#include "core/symbols/method_store.h"
#include "core/symbols/net_trace.h"

#include <map>

namespace clr {

struct TraceMethods {
  // By process id. The id is 0 where the file states none.
  std::map<std::uint64_t, MethodStore> processes;
  TraceReport trace;
  std::uint64_t method_events = 0, module_events = 0; // that were of use
  // The runtime told all code that was there at the end. Without it methods that were there before the
  // collection began have no names: the collection was not stopped but cut off, or had its rundown switched
  // off.
  bool rundown_complete = false;
  Malformed malformed; // of the events' payloads; places are file offsets

  // The store of a process; of the only one when no id is given. Null: there is none, or the choice is not
  // clear.
  const MethodStore* of_process(std::optional<std::uint64_t> id) const;

  static constexpr std::size_t max_processes = 1u << 16; // events of more are left out, counted
};

// Reads a trace once, from the first byte to the last. `progress` gets the bytes that are read and the file's
// size, and stops the reading by false (trace.stopped): what was read until then is used. Throws what
// `progress` throws.
TraceMethods read_trace_methods(const NetTrace& trace,
                                const std::function<bool(std::uint64_t, std::uint64_t)>& progress = {});

} // namespace clr
