// Rows of the tables of a nettrace file that describe events: metadata, threads, labels. Private to
// core/symbols.
#pragma once

#include "core/symbols/net_trace_bytes.h"
#include "core/symbols/net_trace_event.h"

namespace clr {

// Reads the payload of a metadata event of versions 4 and 5. Throws TraceFault when provider, ids or version
// are cut. When only the fields are damaged or more than `fields_left`, `fields_fault` says so, and the type
// has none. Takes from `fields_left` the number of fields that the type has, those of nested ones included.
symbols::EventType read_metadata_event(TraceBytes payload, std::size_t& fields_left);
// Reads a metadata row of version 6. The same faults.
symbols::EventType read_metadata_row(TraceBytes row, std::size_t& fields_left);

struct TraceThread {
  std::uint64_t index = 0;
  std::optional<std::uint64_t> process_id, thread_id; // ids of the operating system
};
// Reads a row of a thread block of version 6. Throws TraceFault.
TraceThread read_thread_row(TraceBytes row);

// The values of a label list of version 6 that replace those of the metadata.
struct EventLabels {
  std::optional<std::uint8_t> version;
};
// Reads one label list. Throws TraceFault when it is cut or has a label of an unknown kind, because its size
// is unknown then.
EventLabels take_label_list(TraceBytes& bytes);

} // namespace clr
