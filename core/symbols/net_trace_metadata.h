// Rows of the tables of a nettrace file that describe events: metadata, threads, labels. Private to
// core/symbols.
#pragma once

#include "core/symbols/net_trace_bytes.h"
#include "core/symbols/net_trace_event.h"

namespace clr {

// The payload of a metadata event of versions 4 and 5. Throws TraceFault when provider, ids or version are
// cut; when only the fields are damaged, `fields_fault` says so.
EventType read_metadata_event(TraceBytes payload);
// A metadata row of version 6. The same faults.
EventType read_metadata_row(TraceBytes row);

struct TraceThread {
  std::uint64_t index = 0;
  std::optional<std::uint64_t> process_id, thread_id; // of the operating system
};
// A row of a thread block of version 6. Throws TraceFault.
TraceThread read_thread_row(TraceBytes row);

// What a label list of version 6 says in the place of the metadata.
struct EventLabels {
  std::optional<std::uint8_t> version;
};
// Takes one label list. Throws TraceFault when it is cut or has a label of an unknown kind, whose size nobody
// knows.
EventLabels take_label_list(TraceBytes& bytes);

} // namespace clr
