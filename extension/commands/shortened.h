// Long text of a target, cut for a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace clr::lldb_plugin {

// The front of `text` of at most `max_bytes`, without a part of a UTF-8 character at its end.
std::string_view shortened(std::string_view text, std::size_t max_bytes);

} // namespace clr::lldb_plugin
