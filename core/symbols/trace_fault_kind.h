// The faults that a nettrace file may have.
#pragma once

#include <cstdint>
#include <string_view>

namespace clr {

enum class TraceFaultKind : std::uint8_t {
  impossible_code,
  many_events,
  lost_text,
  many_processes,
  pointer_size,
  many_properties,
  wrong_first_block,
  unknown_serialization,
  wrong_first_object,
  unended_object,
  no_block,
  unended_block,
  large_integer,
  negative_size,
  endless_string,
  early_end,
  short_block_header,
  many_threads,
  many_labels,
  many_event_types,
  unknown_event_type,
  unknown_thread,
  missing_stack,
  many_stacks,
  unknown_field_type,
  deep_fields,
  many_fields,
  small_field,
  unknown_label,
  many_faults,
};
// A fixed text, for instance "a size is negative".
std::string_view to_string(TraceFaultKind kind);

} // namespace clr
