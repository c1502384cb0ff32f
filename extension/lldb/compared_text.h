// A text of C# that a managed string is compared with, in an expression of LLDB's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

constexpr std::size_t max_compared_literal = 256; // code units of a text

// Whether the string that `object` is, an expression of LLDB's, has the text of `quoted`, which stands in
// quotes and may have escapes of C#. LLDB compares the length first, then as many units at once as fit a
// number, and runs nothing in the process for it. Nothing: the text is longer than max_compared_literal, or
// none of C#.
std::optional<std::string> compared_with_text(std::string_view object, std::string_view quoted);

} // namespace clr::lldb_plugin
