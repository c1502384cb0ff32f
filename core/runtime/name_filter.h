// Selects names by a pattern from the command line.
#pragma once

#include "core/types/method.h"

#include <string>
#include <string_view>

namespace clr {

class NameFilter {
public:
  // * stands for any text, ? for any one character. Brackets stand for themselves, because of names like
  //   "string[]". An empty pattern accepts everything.
  explicit NameFilter(std::string_view glob);

  // Whether the pattern matches the whole full name or the whole plain name of `method`, as it is or as it is
  // shown (printable).
  bool accepts(const Method& method) const;
  // Whether the pattern matches all of `name`, as it is or as it is shown.
  bool accepts(const std::string& name) const { return everything() || matches(name); }
  bool everything() const { return pattern_.empty(); }

private:
  bool matches(const std::string& name) const;

  std::string pattern_; // in the form of fnmatch(3)
};

} // namespace clr
