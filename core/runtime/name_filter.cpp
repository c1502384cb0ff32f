#include "core/runtime/name_filter.h"

#include "core/memory/utf8.h"

#include <fnmatch.h>

namespace clr {

NameFilter::NameFilter(std::string_view glob) {
  for (const char c : glob) {
    if (c == '[' || c == '\\') pattern_ += '\\';
    pattern_ += c;
  }
}

bool NameFilter::accepts(const Method& method) const {
  return everything() || matches(method.full_name) || matches(method.name);
}

bool NameFilter::matches(const std::string& name) const {
  if (fnmatch(pattern_.c_str(), name.c_str(), 0) == 0) return true;
  return !is_printable(name) && fnmatch(pattern_.c_str(), printable(name).c_str(), 0) == 0;
}

} // namespace clr
