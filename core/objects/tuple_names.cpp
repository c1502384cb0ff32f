#include "core/objects/tuple_names.h"

#include "core/objects/instance_reader.h"
#include "core/objects/named_tuples.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace clr {
namespace {

using Names = std::span<const std::string>;

class Elements {
public:
  explicit Elements(TypeLayouts& layouts) : layouts_(layouts) {}

  std::vector<TupleElement> of(const TypeUse& type) {
    if (type.tuple_names) names_ = *type.tuple_names;
    own_ = names_;
    add(type, 0, flat_count(type, 0), 0);
    return std::move(found_);
  }

  // How many names a type has in a list of them.
  std::size_t names_of(const TypeUse& type, unsigned depth) {
    if (type.element && type.kind != TypeUse::Kind::value) return names_of(*type.element, depth + 1);
    if (type.method_table == 0 || depth > max_tuple_nesting) return 0;
    step(type);
    std::size_t count = is_tuple(*type.name) ? flat_count(type, depth) : 0;
    TypeFinder& finder = layouts_.finder();
    const MethodTable& table = finder.names().types().type(type.method_table).table;
    for (const Address argument : finder.names().types().tables().generic_arguments(table))
      count += names_of(*finder.of_handle(argument), depth + 1);
    return count;
  }

private:
  std::vector<const FieldLayout*> fields_of(const TypeUse& type) {
    return layouts_.of(type.method_table).declared_fields();
  }

  static bool is_rest(const FieldLayout& field) {
    return field.name == "Rest" && field.type->kind == TypeUse::Kind::value && is_tuple(*field.type->name);
  }

  // The types of a target that does harm may lead back into themselves.
  void step(const TypeUse& type) {
    if (++steps_ > max_tuple_steps) throw_corrupt(type.method_table, "a tuple of too many parts");
  }

  std::size_t flat_count(const TypeUse& type, unsigned depth) {
    step(type);
    std::size_t count = 0;
    for (const FieldLayout* const field : fields_of(type))
      count += is_rest(*field) && depth < max_tuple_nesting ? flat_count(*field->type, depth + 1) : 1;
    return count;
  }

  // `at`: where the names of what stands within this tuple begin.
  void add(const TypeUse& type, std::uint32_t offset, std::size_t at, unsigned depth) {
    for (const FieldLayout* const field : fields_of(type)) {
      const std::size_t count = names_.empty() ? 0 : names_of(*field->type, depth);
      const std::size_t begin = std::min(at, names_.size());
      const Names within = names_.subspan(begin, std::min(count, names_.size() - begin));
      at += count;
      if (is_rest(*field) && depth < max_tuple_nesting) {
        add(*field->type, offset + field->offset, begin + flat_count(*field->type, depth + 1), depth + 1);
        continue;
      }
      const std::size_t index = found_.size();
      if (index >= max_tuple_elements) return;
      std::string name = index < own_.size() ? own_[index].substr(0, max_tuple_name) : std::string();
      if (name.empty()) name = fmt::format("Item{}", index + 1);
      found_.push_back({.name = std::move(name),
                        .type = with_tuple_names(layouts_, field->type, {within.begin(), within.end()}),
                        .offset = offset + field->offset});
    }
  }

  TypeLayouts& layouts_;
  Names names_, own_;
  std::size_t steps_ = 0;
  std::vector<TupleElement> found_;
};

TypeNamePtr named(const std::vector<TupleElement>& elements) {
  std::vector<std::pair<TypeNamePtr, std::string>> parts;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool numbered = elements[i].name == fmt::format("Item{}", i + 1);
    parts.emplace_back(elements[i].type->name, numbered ? std::string() : elements[i].name);
  }
  return named_tuple(parts);
}

} // namespace

bool is_tuple(const TypeName& type) {
  return framework_type_name(type).starts_with("System.ValueTuple`");
}

std::vector<TupleElement> tuple_elements(TypeLayouts& layouts, const TypeUse& type) {
  if (type.kind != TypeUse::Kind::value || (!type.tuple_names && !is_tuple(*type.name))) return {};
  return Elements(layouts).of(type);
}

TypeUsePtr with_tuple_names(TypeLayouts& layouts, const TypeUsePtr& type, std::vector<std::string> names,
                            bool generic) {
  if (generic) names = names_of_instance(*type->name, std::move(names));
  const bool any = std::ranges::any_of(names, [](const std::string& name) { return !name.empty(); });
  names.resize(std::min(names.size(), max_tuple_elements));
  if (!any) return type;
  if (type->kind != TypeUse::Kind::value || !is_tuple(*type->name)) {
    if (!has_tuple(*type->name)) return type;
    auto made = std::make_shared<TypeUse>(*type);
    made->name = type_with_tuple_names(type->name, names);
    if (type->kind == TypeUse::Kind::array && type->element)
      made->element = with_tuple_names(layouts, type->element, std::move(names));
    else
      made->names_within = true;
    return made;
  }
  try {
    auto made = std::make_shared<TypeUse>(*type);
    made->tuple_names = std::make_shared<const std::vector<std::string>>(std::move(names));
    made->name = named(tuple_elements(layouts, *made));
    return made;
  } catch (const Error&) {
    return type; // its elements have numbers
  }
}

TypeUsePtr item_with_names(TypeLayouts& layouts, const TypeUsePtr& item,
                           const std::vector<NamedArgument>& arguments) {
  if (arguments.empty()) return item;
  const std::string text = format_type(*item->name);
  const auto found = std::ranges::find(arguments.rbegin(), arguments.rend(), text, &NamedArgument::type);
  return found == arguments.rend() ? item : with_tuple_names(layouts, item, found->names);
}

} // namespace clr
