#include "core/types/last_name.h"

namespace clr {

std::string_view last_name(std::string_view name) {
  name = name.substr(0, name.find('('));
  while (name.ends_with(' ')) name.remove_suffix(1);
  // Removes the type arguments of a generic method, but not the names in angle brackets that compilers make.
  if (name.ends_with('>')) {
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
      depth += name[i] == '>' ? 1 : name[i] == '<' ? -1 : 0;
      if (depth != 0) continue;
      if (i > 0 && name[i - 1] != '.') name = name.substr(0, i);
      break;
    }
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return name;
  const bool special = dot > 0 && name[dot - 1] == '.'; // "T..ctor"
  return name.substr(special || dot == 0 ? dot : dot + 1);
}

} // namespace clr
