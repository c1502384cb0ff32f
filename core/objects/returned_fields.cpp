#include "core/objects/returned_fields.h"

#include "core/metadata/il_code.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// A virtual property may be overridden, but then the type that overrides it is looked at first.
constexpr std::uint32_t static_method = 0x10;

// The Field token that a getter returns; 0: it does more.
std::uint32_t returned_field(std::span<const std::byte> code) {
  constexpr std::uint16_t nop = 0x00, load_this = 0x02, first_load_local = 0x06, first_store_local = 0x0a,
                          jump = 0x2b, ret = 0x2a;
  constexpr std::size_t max_code = 16;
  if (code.size() > max_code) return 0;
  std::vector<IlInstruction> instructions = il_instructions(code);
  // Code that is not optimised keeps the result in a local and jumps to its end.
  std::erase_if(instructions, [](const IlInstruction& one) {
    return one.opcode == nop || one.opcode == first_load_local || one.opcode == first_store_local ||
           (one.opcode == jump && one.operand == 0);
  });
  const bool plain = instructions.size() == 3 && instructions[0].opcode == load_this &&
                     instructions[1].opcode == il::ldfld && instructions[2].opcode == ret;
  return plain ? instructions[1].token() : 0;
}

// Of the getter that the type declares: nothing when it declares none; 0: it does more.
std::optional<std::uint32_t> token_of_getter(ObjectReader& objects, const TypeLayout& layout,
                                             std::string_view property) {
  if (layout.module == 0 || layout.type_def == 0) return std::nullopt;
  NamedModule& module = objects.finder().names().named_modules().at(layout.module);
  const Target& target = objects.finder().target();
  const std::string getter = fmt::format("get_{}", property);
  return module.metadata.with([&](MetadataNames& names) -> std::optional<std::uint32_t> {
    const Metadata& metadata = names.metadata();
    const auto [first, last] = metadata.method_range(rid_of(layout.type_def));
    for (std::uint32_t i = first; i < last; ++i) {
      const MethodDefRow row = metadata.method_def(metadata.method_at(i));
      if ((row.flags & static_method) != 0 || metadata.string(row.name) != getter) continue;
      if (row.rva == 0) return 0;
      const ImageMapping mapping = image_mapping(target, module.module);
      if (mapping.base == 0) return 0;
      const PeImage image = mapping.mapped ? PeImage(target.memory(), mapping.base, *mapping.mapped)
                                           : PeImage::detect(target.memory(), mapping.base);
      const std::uint32_t token = returned_field(il_code(image, row.rva));
      if (table_of(token) != MetadataTable::member_ref) return token;
      // A field of a generic type: by its name.
      const std::string field = metadata.string(metadata.member_ref(rid_of(token)).name);
      for (const FieldLayout& one : layout.fields)
        if (!one.is_static && one.name == field) return one.token;
      return 0;
    }
    return std::nullopt;
  });
}

} // namespace

std::optional<FieldPlace> find_returned_field(InstanceReader& reader, const Instance& instance,
                                              std::string_view property) {
  const TypeLayout* layout = &instance.layout;
  for (unsigned i = 0; i < TypeLayouts::max_base_types; ++i) {
    std::optional<std::uint32_t> token;
    try {
      token = token_of_getter(reader.objects(), *layout, property);
    } catch (const Error&) {
      return std::nullopt; // without its code it is not known what it does
    }
    if (token) {
      const auto found = std::ranges::find(layout->fields, *token, &FieldLayout::token);
      if (found == layout->fields.end() || found->is_static) return std::nullopt; // it does more
      return FieldPlace{&*found, instance.fields + found->offset};
    }
    if (layout->table.parent == 0) return std::nullopt;
    layout = &reader.objects().layouts().of(layout->table.parent);
  }
  return std::nullopt;
}

} // namespace clr
