#include "core/runtime/name_filter.h"

#include <fnmatch.h>

namespace clr {

NameFilter::NameFilter(std::string_view glob) {
  for (const char c : glob) {
    if (c == '[' || c == '\\') pattern_ += '\\';
    pattern_ += c;
  }
}

bool NameFilter::accepts(const Method& method) const {
  if (everything()) return true;
  return fnmatch(pattern_.c_str(), method.full_name.c_str(), 0) == 0 ||
         fnmatch(pattern_.c_str(), method.name.c_str(), 0) == 0;
}

} // namespace clr
