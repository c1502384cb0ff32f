// The place that a breakpoint of LLDB's asks for, as far as it tells, and whether a method can be meant by
// it.
#pragma once

#include "core/types/method.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

struct BreakpointWish {
  enum class Kind : std::uint8_t {
    name,    // functions called one of `names`
    line,    // `line` of `file`
    pattern, // names or source text by a regular expression
    address, // a place in memory
    unknown,
  };
  Kind kind = Kind::unknown;
  std::vector<std::string> names; // of a pattern: the expression
  std::string file;               // as written, with or without folders
  std::uint32_t line = 0;

  friend bool operator==(const BreakpointWish&, const BreakpointWish&) = default;
};

// By the JSON of SBBreakpoint::SerializeToStructuredData, which is the same from LLDB 14 on; unknown for what
// is no such text, and for kinds of breakpoints that it does not have (exceptions).
BreakpointWish wish_of_serialized(std::string_view json);
// By the arguments of `breakpoint set`, without these two words.
BreakpointWish wish_of_arguments(std::span<const std::string_view> words);

// False only when the breakpoint cannot mean `method`, whose code is in `files` (full paths; empty: not
// known).
bool may_concern(const BreakpointWish& wish, const Method& method, std::span<const std::string> files);

} // namespace clr
