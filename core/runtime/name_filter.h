// Names chosen by a pattern of the command line.
#pragma once

#include "core/types/method.h"

#include <string>
#include <string_view>

namespace clr {

class NameFilter {
public:
  // * is any text, ? any one character; brackets are themselves, for "string[]". Empty: everything.
  explicit NameFilter(std::string_view glob);

  // Whether the full name or the plain name of `method` matches as a whole.
  bool accepts(const Method& method) const;
  bool everything() const { return pattern_.empty(); }

private:
  std::string pattern_; // as fnmatch(3) takes it
};

} // namespace clr
