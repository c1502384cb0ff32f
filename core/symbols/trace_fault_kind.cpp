#include "core/symbols/trace_fault_kind.h"

namespace clr {

std::string_view to_string(TraceFaultKind kind) {
  switch (kind) {
  case TraceFaultKind::impossible_code:
    return "a method's code has no possible place";
  case TraceFaultKind::many_events:
    return "more events of code than are kept";
  case TraceFaultKind::lost_text:
    return "a name or path is not whole: it is too long, or there are more than are kept";
  case TraceFaultKind::many_processes:
    return "more processes than a trace can have";
  case TraceFaultKind::pointer_size:
    return "pointers are neither of 4 nor of 8 bytes";
  case TraceFaultKind::many_properties:
    return "more properties than a trace can have";
  case TraceFaultKind::wrong_first_block:
    return "the first block is not that of the trace";
  case TraceFaultKind::unknown_serialization:
    return "no nettrace file: its serialization is not known";
  case TraceFaultKind::wrong_first_object:
    return "the first object is not the trace";
  case TraceFaultKind::unended_object:
    return "the trace object does not end where it must";
  case TraceFaultKind::no_block:
    return "no block begins where one must";
  case TraceFaultKind::unended_block:
    return "a block does not end where it says";
  case TraceFaultKind::large_integer:
    return "an integer is too large";
  case TraceFaultKind::negative_size:
    return "a size is negative";
  case TraceFaultKind::endless_string:
    return "a string has no end";
  case TraceFaultKind::early_end:
    return "the data ends too early";
  case TraceFaultKind::short_block_header:
    return "the header of a block is too short";
  case TraceFaultKind::many_threads:
    return "more threads than a trace can have";
  case TraceFaultKind::many_labels:
    return "more label lists than a trace can have";
  case TraceFaultKind::many_event_types:
    return "more types of events than a trace can have";
  case TraceFaultKind::unknown_event_type:
    return "an event's type is not described";
  case TraceFaultKind::unknown_thread:
    return "an event's thread is not described";
  case TraceFaultKind::missing_stack:
    return "an event's stack is not there";
  case TraceFaultKind::many_stacks:
    return "more stacks than can be between two sequence points";
  case TraceFaultKind::unknown_field_type:
    return "a field's type code is not known";
  case TraceFaultKind::deep_fields:
    return "fields are nested too deep";
  case TraceFaultKind::many_fields:
    return "more fields than the events of a trace can have";
  case TraceFaultKind::small_field:
    return "a field is smaller than its size";
  case TraceFaultKind::unknown_label:
    return "a label's kind is not known";
  case TraceFaultKind::many_faults:
    return "so many parts are damaged that the rest is not used";
  }
  return "";
}

} // namespace clr
