// What the WHERE of `clr break` says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

// With a blank between them.
std::string joined(const std::vector<std::string>& words);

struct FileLine {
  std::string file;
  std::uint32_t line = 0;
};
// The place that "Program.cs:41" names; nothing for other texts.
std::optional<FileLine> file_and_line(const std::string& where);

// A regular expression that finds exactly this text where a part of a name begins.
std::string pattern_of(std::string_view name);

} // namespace clr::lldb_plugin
