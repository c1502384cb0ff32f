#include "core/types/last_name.h"

#include "core/memory/utf8.h"

namespace clr {

namespace {
bool ends_in(std::string_view type, std::string_view wanted) {
  if (!type.ends_with(wanted)) return false;
  const std::size_t before = type.size() - wanted.size();
  return before == 0 || type[before - 1] == '.';
}
} // namespace

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

std::string_view qualifier_of(std::string_view name) {
  const std::string_view last = last_name(name);
  const auto before = static_cast<std::size_t>(last.data() - name.data());
  return before == 0 ? std::string_view{} : name.substr(0, before - 1);
}

std::string plain_type_name(std::string_view name) {
  std::string plain;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool compiler_made = c == '<' && depth == 0 && (plain.empty() || plain.back() == '.');
    if (c == '`' && depth == 0) {
      while (i + 1 < name.size() && name[i + 1] >= '0' && name[i + 1] <= '9') ++i;
    } else if (c == '<' && !compiler_made) {
      ++depth;
    } else if (c == '>' && depth > 0) {
      --depth;
    } else if (depth == 0) {
      plain += c == '+' || c == '/' ? '.' : c;
    }
  }
  return plain;
}

bool is_type_called(const std::string& type, std::string_view wanted) {
  return ends_in(type, wanted) || (!is_printable(type) && ends_in(printable(type), wanted));
}

} // namespace clr
