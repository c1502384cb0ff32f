#include "extension/process/value_visits.h"

#include "extension/process/workspace.h"

namespace clr::lldb_plugin {
namespace {

ShownValues& values_of(const Turn& turn, lldb::SBValue& value) {
  return Workspace::of(turn).process(value.GetTarget())->values();
}

std::optional<std::uint64_t> visit_count(const Turn& turn, lldb::SBValue& value) {
  return values_of(turn, value).count(value);
}

lldb::SBValue visit_part(const Turn& turn, lldb::SBValue& value, std::uint64_t index) {
  return values_of(turn, value).part(value, index);
}

std::optional<std::uint64_t> visit_find(const Turn& turn, lldb::SBValue& value, std::string_view name) {
  return values_of(turn, value).find(value, name);
}

} // namespace

PartsEntry value_parts_entry() {
  return parts_entry<visit_count, visit_part, visit_find>();
}

} // namespace clr::lldb_plugin
