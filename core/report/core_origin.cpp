#include "core/report/core_origin.h"

namespace clr {

std::string origin_of(const ElfCore& core) {
  for (const ElfNote& note : core.notes().all)
    if (note.owner == own_note_owner && note.type == core_origin_note)
      return std::string(reinterpret_cast<const char*>(note.description.data()), note.description.size())
          .substr(0, max_core_origin);
  return {};
}

CoreNote origin_note(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.substr(0, max_core_origin)));
  return {own_note_owner, core_origin_note, {bytes.begin(), bytes.end()}};
}

} // namespace clr
