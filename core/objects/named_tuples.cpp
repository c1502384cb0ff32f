#include "core/objects/named_tuples.h"

#include "core/objects/tuple_names.h"

#include <algorithm>
#include <optional>

namespace clr {
namespace {

constexpr std::size_t own_elements = 7; // of a tuple; the eighth argument is a tuple of the others
constexpr std::string_view tuple_prefix = "System.ValueTuple";

bool is_any_tuple(const TypeName& type) {
  return type.shape == TypeShape::instance && type.element && type.element->name_space == "System" &&
         type.element->chain.size() == 1 && type.element->chain.front().starts_with("ValueTuple`");
}

bool has_rest(const TypeName& tuple) {
  return tuple.arguments.size() > own_elements && tuple.arguments[own_elements] &&
         is_any_tuple(*tuple.arguments[own_elements]);
}

// Elements of a tuple, those behind the seventh included.
std::size_t count_of(const TypeName& tuple, unsigned depth) {
  if (!has_rest(tuple) || depth > max_tuple_nesting) return tuple.arguments.size();
  return own_elements + count_of(*tuple.arguments[own_elements], depth + 1);
}

// Names in a list of them for the tuples in a type.
std::size_t count_names(const TypeName& type, unsigned depth, std::size_t& steps) {
  if (depth > max_tuple_nesting || ++steps > max_tuple_steps) return 0;
  if (type.shape != TypeShape::instance)
    return type.element && type.shape != TypeShape::variable ? count_names(*type.element, depth + 1, steps)
                                                             : 0;
  std::size_t count = is_any_tuple(type) ? count_of(type, depth) : 0;
  for (const TypeNamePtr& argument : type.arguments)
    if (argument) count += count_names(*argument, depth + 1, steps);
  return count;
}

class Naming {
public:
  explicit Naming(std::span<const std::string> names) : names_(names) {}

  TypeNamePtr of(const TypeNamePtr& type, unsigned depth) {
    if (!type || depth > max_tuple_nesting || ++steps_ > max_tuple_steps) return type;
    if (is_any_tuple(*type)) return tuple(*type, depth);
    switch (type->shape) {
    case TypeShape::instance: {
      TypeName made = *type;
      for (TypeNamePtr& argument : made.arguments) argument = of(argument, depth + 1);
      return make_type(std::move(made));
    }
    case TypeShape::szarray:
    case TypeShape::array:
    case TypeShape::pointer:
    case TypeShape::byref: {
      TypeName made = *type;
      made.element = of(type->element, depth + 1);
      return make_type(std::move(made));
    }
    default:
      return type;
    }
  }

private:
  TypeNamePtr tuple(const TypeName& type, unsigned depth) {
    std::vector<std::pair<TypeNamePtr, std::string>> elements;
    const std::span<const std::string> own = take(count_of(type, depth));
    add(elements, type, depth);
    for (std::size_t i = 0; i < std::min(own.size(), elements.size()); ++i)
      elements[i].second = own[i].substr(0, max_tuple_name);
    return named_tuple(elements);
  }

  void add(std::vector<std::pair<TypeNamePtr, std::string>>& elements, const TypeName& type, unsigned depth) {
    const bool rest = has_rest(type) && depth <= max_tuple_nesting;
    const std::size_t count = rest ? own_elements : type.arguments.size();
    for (std::size_t i = 0; i < count; ++i) elements.emplace_back(of(type.arguments[i], depth + 1), "");
    if (!rest) return;
    const TypeName& others = *type.arguments[own_elements];
    take(count_of(others, depth + 1)); // they were named with the first ones
    add(elements, others, depth + 1);
  }

  std::span<const std::string> take(std::size_t count) {
    const std::span<const std::string> taken = names_.first(std::min(count, names_.size()));
    names_ = names_.subspan(taken.size());
    return taken;
  }

  std::span<const std::string> names_;
  std::size_t steps_ = 0;
};

bool has_tuple_within(const TypeName& type, unsigned depth, std::size_t& steps) {
  if (depth > max_tuple_nesting || ++steps > max_tuple_steps) return false;
  if (is_any_tuple(type)) return true;
  if (type.element && type.shape != TypeShape::instance && has_tuple_within(*type.element, depth + 1, steps))
    return true;
  return type.shape == TypeShape::instance &&
         std::ranges::any_of(type.arguments, [&](const TypeNamePtr& argument) {
           return argument && has_tuple_within(*argument, depth + 1, steps);
         });
}

// Takes the text of a type's name apart.
class Unnaming {
public:
  // The text without names, which are appended to names().
  std::string type(std::string_view text, unsigned depth = 0) {
    std::string made;
    if (depth > max_tuple_nesting) return std::string(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t open = text.find('<', at);
      const std::size_t close = open == std::string_view::npos ? open : end_of(text, open);
      if (close == std::string_view::npos) return made + std::string(text.substr(at));
      const std::string_view head = text.substr(at, open - at);
      made += head;
      const std::vector<std::string_view> arguments = parts_of(text.substr(open + 1, close - open - 1));
      made += head.ends_with(tuple_prefix) ? tuple(arguments, depth) : generic(arguments, depth);
      at = close + 1;
    }
    return made;
  }

  std::vector<std::string> take() { return std::exchange(names_, {}); }

  // The place of the '>' that belongs to the '<' at `open`.
  static std::size_t end_of(std::string_view text, std::size_t open) {
    unsigned depth = 0;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (text[i] == '<') ++depth;
      if (text[i] == '>' && --depth == 0) return i;
    }
    return std::string_view::npos;
  }

  static std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    unsigned depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '<' || c == '[' || c == '(') ++depth;
      if ((c == '>' || c == ']' || c == ')') && depth != 0) --depth;
      if (c != ',' || depth != 0) continue;
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
      while (begin < text.size() && text[begin] == ' ') ++begin;
    }
    parts.push_back(text.substr(begin));
    return parts;
  }

private:
  std::string generic(const std::vector<std::string_view>& arguments, unsigned depth) {
    std::string made = "<";
    for (const std::string_view argument : arguments)
      made += (made.size() == 1 ? "" : ", ") + type(argument, depth + 1);
    return made + ">";
  }

  std::string tuple(const std::vector<std::string_view>& elements, unsigned depth) {
    std::vector<std::string_view> types;
    for (const std::string_view element : elements) {
      const std::size_t space = name_in(element);
      types.push_back(element.substr(0, space));
      names_.emplace_back(space == std::string_view::npos ? "" : element.substr(space + 1));
    }
    return rest(types, depth);
  }

  std::string rest(std::span<const std::string_view> types, unsigned depth) {
    std::string made = "<";
    const std::size_t own = std::min(types.size(), own_elements);
    for (std::size_t i = 0; i < own; ++i) made += (i == 0 ? "" : ", ") + type(types[i], depth + 1);
    if (types.size() > own) {
      names_.resize(names_.size() + types.size() - own);
      made += ", " + std::string(tuple_prefix) + rest(types.subspan(own), depth);
    }
    return made + ">";
  }

  // The space before the name of an element, outside of all brackets.
  static std::size_t name_in(std::string_view element) {
    unsigned depth = 0;
    for (std::size_t i = element.size(); i-- > 0;) {
      const char c = element[i];
      if (c == '>' || c == ']' || c == ')') ++depth;
      if ((c == '<' || c == '[' || c == '(') && depth != 0) --depth;
      if (c == ' ' && depth == 0) return i;
    }
    return std::string_view::npos;
  }

  std::vector<std::string> names_;
};

// The element of the array that the text names: "int[,]" of "int[][,]".
std::optional<std::string> element_of_array(std::string_view text) {
  if (!text.ends_with(']')) return std::nullopt;
  const std::size_t generic = text.rfind('>');
  const std::size_t open = text.find('[', generic == std::string_view::npos ? 0 : generic);
  const std::size_t close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, open)) + std::string(text.substr(close + 1));
}

} // namespace

TypeNamePtr named_tuple(const std::vector<std::pair<TypeNamePtr, std::string>>& elements) {
  std::string text = "ValueTuple<";
  for (const auto& [type, name] : elements) {
    if (text.back() != '<') text += ", ";
    text += type ? format_type(*type) : "?";
    if (!name.empty()) text += " " + name;
  }
  auto made = std::make_shared<TypeName>();
  made->shape = TypeShape::definition;
  made->name_space = "System";
  made->chain = {text + ">"};
  made->value_type = true;
  return made;
}

TypeNamePtr type_with_tuple_names(const TypeNamePtr& type, std::span<const std::string> names) {
  return Naming(names).of(type, 0);
}

std::vector<std::string> names_of_instance(const TypeName& type, std::vector<std::string> names) {
  std::size_t steps = 0;
  if (names.size() != count_names(type, 0, steps))
    names.resize(is_any_tuple(type) ? std::min(names.size(), count_of(type, 0)) : 0);
  return names;
}

bool has_tuple(const TypeName& type) {
  std::size_t steps = 0;
  return has_tuple_within(type, 0, steps);
}

std::string without_tuple_names(std::string_view type) {
  return type.find(tuple_prefix) == std::string_view::npos ? std::string(type) : Unnaming().type(type);
}

std::vector<NamedArgument> named_arguments(std::string_view type) {
  std::vector<NamedArgument> found;
  if (type.find(tuple_prefix) == std::string_view::npos) return found;
  Unnaming unnaming;
  const auto add = [&](std::string_view argument) {
    std::string text = unnaming.type(argument);
    std::vector<std::string> names = unnaming.take();
    if (std::ranges::any_of(names, [](const std::string& name) { return !name.empty(); }))
      found.push_back({.type = std::move(text), .names = std::move(names)});
  };
  if (const auto element = element_of_array(type)) {
    add(*element);
    return found;
  }
  for (std::size_t open = type.find('<'); open != std::string_view::npos;) {
    const std::size_t close = Unnaming::end_of(type, open);
    if (close == std::string_view::npos) return {};
    for (const std::string_view argument : Unnaming::parts_of(type.substr(open + 1, close - open - 1)))
      add(argument);
    open = type.find('<', close);
  }
  return found;
}

} // namespace clr
