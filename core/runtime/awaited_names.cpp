#include "core/runtime/awaited_names.h"

#include "core/objects/object_reader.h"

namespace clr {
namespace {

constexpr std::string_view source_type = "System.Threading.Tasks.TaskCompletionSource";

} // namespace

std::string source_name(const std::string& field) {
  if (!field.starts_with('<')) return field;
  const std::size_t end = field.find('>');
  return end == field.npos ? std::string() : field.substr(1, end - 1);
}

bool AwaitedNames::leads_to(Address value, Address object) {
  if (value == 0) return false;
  if (value == object) return true;
  try {
    AsyncObjects& kinds = graph_->kinds();
    const TypeLineage& lineage = kinds.lineage(value);
    if (!lineage.known) return false;
    const std::string& name = lineage.name;
    if (name.starts_with(source_type)) return kinds.reference(value, "_task") == object;
    return name.starts_with("System.Threading.Channels.") && kinds.reference(value, "_parent") == object;
  } catch (const Error&) {
    return false; // no object
  }
}

std::optional<AwaitedName> AwaitedNames::in_object(Address holder, std::uint32_t local, Address object) {
  TypeLayouts& layouts = runtime_->objects()->layouts();
  const Target& target = *runtime_->target();
  const TypeLayout* layout = &layouts.of(runtime_->objects()->method_table_of(holder));
  for (unsigned i = 0; i < TypeLayouts::max_base_types; ++i) {
    for (const FieldLayout& field : layout->fields) {
      if (field.is_static || !field.type->is_reference()) continue;
      if (!leads_to(target.read_pointer(holder + target.pointer_size() + field.offset), object)) continue;
      const std::string name = source_name(field.name);
      if (name.empty()) continue;
      // Variables that a method shares with a lambda are fields of a class without a name.
      const bool variable = layout->text.find("<>c__") != std::string::npos;
      return AwaitedName{variable ? name : layout->text + "." + name, local, field.offset};
    }
    if (layout->table.parent == 0) break;
    layout = &layouts.of(layout->table.parent);
  }
  return std::nullopt;
}

std::optional<AwaitedName> AwaitedNames::of(const AsyncBox& box, Address object) {
  if (object == 0) return std::nullopt;
  try {
    const Target& target = *runtime_->target();
    const TypeLayout& layout = runtime_->objects()->layouts().of(box.shape->method_table);
    for (const bool within : {false, true})
      for (const FieldLayout& field : layout.fields) {
        if (field.is_static || !field.type->is_reference()) continue;
        const bool self = field.name == "<>4__this", shared = field.name.starts_with("<>8__");
        if (within != (self || shared)) continue;
        const Address value = target.read_pointer(box.machine + field.offset);
        if (within) {
          if (value == 0) continue;
          if (auto found = in_object(value, field.offset, object)) return found;
        } else if (const std::string name = source_name(field.name);
                   !name.empty() && leads_to(value, object)) {
          return AwaitedName{name, field.offset, std::nullopt};
        }
      }
  } catch (const Error&) {
    // A method whose variables cannot be read has no name for it.
  }
  return std::nullopt;
}

std::optional<AwaitedName> AwaitedNames::of_static(Address object, const std::function<bool()>& go_on) {
  for (const StaticField& field : statics_.all(go_on)) {
    if (field.boxed) continue;
    try {
      if (leads_to(runtime_->target()->read_pointer(field.slot), object))
        return AwaitedName{field.name, std::nullopt, std::nullopt};
    } catch (const Error&) {
      continue; // a field that cannot be read is not the one
    }
  }
  return std::nullopt;
}

bool AwaitedNames::has(const AsyncBox& box, const AwaitedName& name, Address object) {
  if (!name.local) return true;
  try {
    const Target& target = *runtime_->target();
    const Address value = target.read_pointer(box.machine + *name.local);
    if (!name.member) return leads_to(value, object);
    return value != 0 && leads_to(target.read_pointer(value + target.pointer_size() + *name.member), object);
  } catch (const Error&) {
    return false;
  }
}

} // namespace clr
