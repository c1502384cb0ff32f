// A note of a minimal core that says what it was made from.
#pragma once

#include "core/memory/core_writer.h"

#include <string>
#include <string_view>

namespace clr {

constexpr std::uint32_t core_origin_note = 0x434c5203; // "CLR", 3; the owner is own_note_owner
constexpr std::size_t max_core_origin = 4096;          // bytes

// The text of the note in `core`: "made by clr savecore (lldb-clr 1.2) of process 123"; empty when there is
// none. What a core says of itself is no proof. No reads.
std::string origin_of(const ElfCore& core);

CoreNote origin_note(std::string_view text);

} // namespace clr
