#include "core/objects/field_names.h"

namespace clr {

std::string property_of(std::string_view name) {
  if (name.size() < 2) return {};
  // What VB makes for itself has two of these signs.
  if (name.front() == '$')
    return name.find_first_of("$@<", 1) == std::string_view::npos ? std::string(name.substr(1))
                                                                  : std::string();
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

std::string source_name_of_static(std::string_view type, std::string_view field) {
  if (const std::string property = property_of(field); !property.empty())
    return std::string(type) + "." + property;
  constexpr std::string_view begin = "<StartupCode$", end = ">.$";
  const std::size_t module = type.find(end);
  const std::size_t line = field.find('@');
  if (!type.starts_with(begin) || module == std::string_view::npos || line == 0 ||
      line == std::string_view::npos ||
      field.find_first_not_of("0123456789", line + 1) != std::string_view::npos)
    return {};
  return std::string(type.substr(module + end.size())) + "." + std::string(field.substr(0, line));
}

bool is_anonymous(std::string_view type) {
  return type.starts_with("<>f__AnonymousType") || type.starts_with("VB$AnonymousType");
}

} // namespace clr
