// What the WHERE of `clr break` says.
#pragma once

#include "core/describe/break_targets.h"

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

// `where` and, when it has no type, the names of `methods` with their types: LLDB has no others of a method
// whose PDB is missing. At most max_where_names; parameters are left out.
std::vector<std::string> names_of(const std::string& where, const std::vector<BreakTarget>& methods);
constexpr std::size_t max_where_names = 100; // LLDB looks for each of them in every module

} // namespace clr::lldb_plugin
