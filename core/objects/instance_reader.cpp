#include "core/objects/instance_reader.h"

#include <fmt/format.h>

namespace clr {

namespace {
// The type, without what its parameters stand for; null for one that is made of others, as arrays are.
const TypeName* definition_of(const TypeName& name) {
  const TypeName* type = &name;
  if (type->shape == TypeShape::instance && type->element) type = type->element.get();
  return type->shape == TypeShape::definition && !type->chain.empty() ? type : nullptr;
}
} // namespace

std::string framework_type_name(const TypeName& name) {
  const TypeName* const type = definition_of(name);
  if (type == nullptr) return {};
  if (type->assembly != "System" && !type->assembly.str().starts_with("System.") &&
      type->assembly != "FSharp.Core")
    return {};
  return fmt::format("{}.{}", type->name_space, fmt::join(type->chain, "+"));
}

std::string compiler_type_name(const TypeName& name) {
  const TypeName* const type = definition_of(name);
  const bool made = type != nullptr && type->name_space.empty() && type->chain.size() == 1;
  std::string alone = made ? std::string(type->chain.front()) : std::string();
  if (!alone.starts_with("<>")) alone.clear();
  return alone;
}

Instance InstanceReader::of_object(Address object) {
  const TypeLayout& layout = reader_->layouts().of(reader_->method_table_of(object));
  return {layout, target().platform().wrap(object + target().pointer_size())};
}

std::optional<FieldPlace> InstanceReader::find(const Instance& instance, std::string_view name) {
  const FieldLayout* const found = reader_->field_of(instance.layout, name);
  if (found == nullptr) return std::nullopt;
  return FieldPlace{found, instance.fields + found->offset};
}

FieldPlace InstanceReader::field(const Instance& instance, std::string_view name) {
  if (const auto found = find(instance, name)) return *found;
  // A base type may be the one whose fields are not known.
  const TypeLayout* layout = &instance.layout;
  for (unsigned i = 0; layout->problem.empty() && layout->table.parent != 0; ++i) {
    if (i == TypeLayouts::max_base_types) break;
    layout = &reader_->layouts().of(layout->table.parent);
  }
  throw Error(ErrorKind::unsupported_contract,
              layout->problem.empty()
                  ? fmt::format("{} has no field {} in this version", instance.layout.text, name)
                  : fmt::format("{}.{}: {}", instance.layout.text, name, layout->problem));
}

std::uint64_t InstanceReader::integer(const Instance& instance, std::string_view name) {
  const FieldPlace place = field(instance, name);
  ElementType type = place.field->type->number;
  if (place.field->type->kind == TypeUse::Kind::pointer) return target().read_pointer(place.at);
  if (place.field->type->kind == TypeUse::Kind::value)
    type = reader_->layouts().of(place.field->type->method_table).number;
  return number(type, place.at);
}

Address InstanceReader::reference(const Instance& instance, std::string_view name) {
  return target().read_pointer(field(instance, name).at);
}

Instance InstanceReader::inner(const Instance& instance, std::string_view name) {
  const FieldPlace place = field(instance, name);
  if (place.field->type->kind != TypeUse::Kind::value)
    throw_corrupt(place.at, fmt::format("the field {} is no structure", name));
  return {reader_->layouts().of(place.field->type->method_table), place.at};
}

std::uint64_t InstanceReader::number(ElementType number, Address at) {
  const std::uint32_t size = size_of_number(number, target().pointer_size());
  const bool sign = is_signed_number(number);
  switch (size) {
  case 1: {
    const std::uint8_t value = target().read_u8(at);
    return sign ? static_cast<std::uint64_t>(static_cast<std::int8_t>(value)) : value;
  }
  case 2: {
    const std::uint16_t value = target().read_u16(at);
    return sign ? static_cast<std::uint64_t>(static_cast<std::int16_t>(value)) : value;
  }
  case 4: {
    const std::uint32_t value = target().read_u32(at);
    return sign ? static_cast<std::uint64_t>(static_cast<std::int32_t>(value)) : value;
  }
  case 8:
    return target().read_u64(at);
  default:
    throw_corrupt(at, "a number of no known size");
  }
}

InstanceReader::Vector InstanceReader::vector(Address array) {
  const TypeLayout& layout = reader_->layouts().of(reader_->method_table_of(array));
  if (layout.kind != TypeLayout::Kind::array || !layout.table.is_szarray())
    throw_corrupt(array, "no array of one dimension");
  return {layout, array + target().size_of("Array"),
          target().read_u32(target().field_address(array, "Array", "m_NumComponents"))};
}

bool InstanceReader::derives_from(const TypeLayout& layout, std::string_view full_name) {
  const TypeLayout* type = &layout;
  for (unsigned i = 0; i < TypeLayouts::max_base_types; ++i) {
    if (framework_type_name(*type->name) == full_name) return true;
    if (type->table.parent == 0) return false;
    type = &reader_->layouts().of(type->table.parent);
  }
  return false;
}

} // namespace clr
