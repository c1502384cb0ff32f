#include "core/objects/field_names.h"

namespace clr {

std::string property_of(std::string_view name) {
  if (name.size() < 2) return {};
  if (name.front() != '<')
    return name.back() == '@' ? std::string(name.substr(0, name.size() - 1)) : std::string();
  const std::size_t end = name.find('>');
  if (end == std::string_view::npos || end == 1) return {};
  const std::string_view rest = name.substr(end + 1);
  if (rest != "k__BackingField" && rest != "i__Field") return {};
  return std::string(name.substr(1, end - 1));
}

std::string source_name_of_field(const std::string& name) {
  std::string property = property_of(name);
  return property.empty() ? name : property;
}

std::string written_name(const std::string& name) {
  const std::size_t end = name.find('>');
  if (!name.starts_with('<') || end == std::string::npos || end == 1) return source_name_of_field(name);
  return name.substr(1, end - 1);
}

} // namespace clr
