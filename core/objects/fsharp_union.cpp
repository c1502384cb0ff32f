#include "core/objects/fsharp_union.h"

#include "core/objects/attributes.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::string_view tag_field = "_tag", maker_prefix = "New";
constexpr std::int32_t kind_mask = 31, sum_type = 1; // SourceConstructFlags

bool is_union(MetadataNames& names, std::uint32_t rid) {
  const auto value = find_attribute(names, token_of(MetadataTable::type_def, rid), "Microsoft.FSharp.Core",
                                    "CompilationMappingAttribute");
  return value && (attribute_number(*value).value_or(0) & kind_mask) == sum_type;
}

// "Leaf" of the type "_Leaf" of a case without fields.
std::string case_of_type(std::string name) {
  name = name.substr(0, name.find('`'));
  return name.starts_with('_') ? name.substr(1) : name;
}

// "radius" of the field "_radius", "Item1" of "item1".
std::string source_name(const std::string& field) {
  if (field.size() > 1 && field.front() == '_') return field.substr(1);
  if (!field.starts_with("item")) return field;
  return "I" + field.substr(1);
}

// Takes the room of a name; false: there is none left.
bool take(std::size_t& room, const std::string& name) {
  constexpr std::size_t nodes = 192; // of the sets that have it, in three forms
  const std::size_t size = nodes + 3 * name.size();
  const bool fits = size <= room;
  room = fits ? room - size : 0;
  return fits;
}

void read_tags(const Metadata& metadata, std::uint32_t owner, std::vector<std::string>& tags,
               std::size_t& room) {
  const std::uint32_t last = std::min(metadata.rows(MetadataTable::type_def), owner + UnionType::max_nested);
  for (std::uint32_t rid = owner + 1; rid <= last; ++rid) {
    if (metadata.string(metadata.type_def(rid).name) != "Tags" || metadata.encloser_of(rid) != owner)
      continue;
    const auto [begin, end] = metadata.field_range(rid);
    for (std::uint32_t i = begin; i < end && tags.size() < UnionType::max_cases; ++i) {
      std::string name = metadata.string(metadata.field(metadata.field_at(i)).name);
      if (!take(room, name)) return;
      tags.push_back(std::move(name));
    }
    return;
  }
}

void read_makers(const Metadata& metadata, std::uint32_t owner, UnionType& type, std::size_t& room) {
  const auto [begin, all] = metadata.method_range(owner);
  const std::uint32_t end = std::min(all, begin + UnionType::max_methods);
  for (std::uint32_t i = begin; i < end && type.fields.size() < UnionType::max_cases; ++i) {
    const std::uint32_t method = metadata.method_at(i);
    const std::string name = metadata.string(metadata.method_def(method).name);
    if (!name.starts_with(maker_prefix)) continue;
    if (!take(room, name)) return;
    UnionType::Fields& fields = type.fields[name.substr(maker_prefix.size())];
    const auto [first, last] = metadata.param_range(method);
    const std::uint32_t most = first + static_cast<std::uint32_t>(UnionType::max_cases);
    for (std::uint32_t at = first; at < std::min(last, most); ++at) {
      const ParamRow row = metadata.param(metadata.param_at(at));
      if (row.sequence == 0) continue;
      const std::string parameter = metadata.string(row.name);
      if (!take(room, parameter)) return;
      fields.names.insert(parameter);
      fields.names.insert("_" + parameter);
      fields.source_names.insert(source_name(parameter));
    }
  }
}

} // namespace

std::optional<UnionType> read_union_type(ObjectReader& reader, const TypeLayout& layout) {
  if (layout.module == 0 || layout.type_def == 0 || !layout.name) return std::nullopt;
  const TypeName& name = layout.name->shape == TypeShape::instance && layout.name->element
                             ? *layout.name->element
                             : *layout.name;
  if (name.chain.empty()) return std::nullopt;
  return reader.finder()
      .names()
      .named_modules()
      .at(layout.module)
      .metadata.with([&](MetadataNames& names) -> std::optional<UnionType> {
        const std::uint32_t rid = rid_of(layout.type_def);
        const Metadata& metadata = names.metadata();
        UnionType type;
        if (!is_union(names, rid)) {
          const std::uint32_t owner = name.chain.size() > 1 ? metadata.encloser_of(rid) : 0;
          // Helpers for debuggers and the like are no cases: these are derived from the union.
          if (owner == 0 || !is_union(names, owner) || layout.table.parent == 0) return std::nullopt;
          const TypeLayout& base = reader.layouts().of(layout.table.parent);
          if (base.module != layout.module || rid_of(base.type_def) != owner) return std::nullopt;
          type.only_case = case_of_type(name.chain.back());
          type.all_fields = true;
          return type;
        }
        std::size_t room = UnionType::max_names;
        read_makers(metadata, rid, type, room);
        read_tags(metadata, rid, type.tags, room);
        reader.layouts().keep(UnionType::max_names - room);
        if (type.tags.empty() && type.fields.size() == 1) type.only_case = type.fields.begin()->first;
        return type;
      });
}

std::optional<UnionCase> union_case(InstanceReader& reader, const Instance& instance) {
  const UnionType* const type = reader.objects().union_of(instance.layout);
  if (type == nullptr) return std::nullopt;
  UnionCase found{.name = type->only_case, .fields = {}};
  if (found.name.empty()) {
    const auto tag = reader.find(instance, tag_field);
    if (!tag) return std::nullopt;
    const std::uint64_t number = reader.number(tag->field->type->number, tag->at);
    if (number >= type->tags.size()) return std::nullopt;
    found.name = type->tags[static_cast<std::size_t>(number)];
  }
  const auto made = type->fields.find(found.name);
  for (const FieldLayout* const field : instance.layout.declared_fields()) {
    if (field->name == tag_field) continue;
    const std::string name = source_name(field->name);
    // A structure has the fields of all its cases.
    if (!type->all_fields && (made == type->fields.end() || !(made->second.names.contains(field->name) ||
                                                              made->second.source_names.contains(name))))
      continue;
    found.fields.push_back({.name = name, .field = field});
  }
  return found;
}

} // namespace clr
