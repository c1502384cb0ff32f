#include "core/runtime/reference_names.h"

#include "core/objects/object_reader.h"

#include <fmt/format.h>

namespace clr {

std::string ReferenceNames::name(Address method_table, std::uint64_t offset) {
  const std::uint64_t word = runtime_->target()->pointer_size();
  try {
    const TypeLayout& layout = runtime_->objects()->layouts().of(method_table);
    if (layout.kind != TypeLayout::Kind::array)
      return offset < word ? std::string() : name_in(method_table, offset - word, 0);
    // The elements lie behind what is there without elements, in which the object's header is counted.
    const std::uint64_t first = layout.table.base_size - word;
    if (offset < first || layout.element_size == 0) return {};
    const std::uint64_t index = (offset - first) / layout.element_size,
                        within = (offset - first) % layout.element_size;
    std::string name = fmt::format("[{}]", index);
    if (layout.element != nullptr && layout.element->kind == TypeUse::Kind::value) {
      const std::string field = name_in(layout.element->method_table, within, 0);
      if (!field.empty()) name += "." + field;
    }
    return name;
  } catch (const Error&) {
    return {};
  }
}

// `offset` counts from the first field.
std::string ReferenceNames::name_in(Address method_table, std::uint64_t offset, unsigned depth) {
  for (; method_table != 0 && depth < max_depth; ++depth) {
    const TypeLayout& layout = runtime_->objects()->layouts().of(method_table);
    for (const FieldLayout& field : layout.fields) {
      if (field.is_static || field.offset > offset) continue;
      if (field.type->kind == TypeUse::Kind::value && field.type->method_table != 0) {
        if (offset - field.offset >= runtime_->objects()->layouts().size_of(*field.type)) continue;
        const std::string within = name_in(field.type->method_table, offset - field.offset, depth + 1);
        return within.empty() ? field.name : field.name + "." + within;
      }
      if (field.offset == offset) return field.name;
    }
    method_table = layout.table.parent;
  }
  return {};
}

} // namespace clr
