#include "core/objects/type_layout.h"

#include "core/objects/attributes.h"
#include "core/objects/tuple_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// MethodTable flags. [rt] vm/methodtable.h
constexpr std::uint32_t category_enum = 0x0006'0000, category_primitive = 0x0007'0000,
                        category_interface = 0x000c'0000;
constexpr std::uint32_t dynamic_statics = 0x2; // of MTFlags2
// FieldDesc. [rt] vm/field.h
constexpr std::uint32_t rid_mask = 0x00ff'ffff, is_static_bit = 1u << 24, thread_static_bit = 1u << 25,
                        rva_bit = 1u << 26;
constexpr unsigned offset_bits = 27;
constexpr std::uint32_t offset_mask = (1u << offset_bits) - 1;
constexpr std::uint32_t default_last_real_offset =
    offset_mask - 6; // greater ones mark fields without a place
constexpr std::uint8_t type_value = 0x11, type_class = 0x12;

bool is_reference_type(std::uint8_t element) {
  return element == type_class || element == 0x0e || element == 0x1c || element == 0x14 || element == 0x1d;
}

// The marks are the greatest values; later runtimes publish them.
std::uint32_t last_real_offset_of(const Target& target) {
  std::optional<std::uint64_t> least;
  for (const std::string_view mark : {"FieldOffsetBigRVA", "FieldOffsetDynamicRVA", "FieldOffsetNewEnc"})
    if (const auto value = target.find_global(mark); value && *value <= offset_mask)
      least = std::min(least.value_or(*value), *value);
  return least ? static_cast<std::uint32_t>(*least) : default_last_real_offset;
}

std::uint64_t constant_value(const Metadata& metadata, const ConstantRow& row) {
  const metadata::Blob blob = metadata.blob(row.value);
  switch (static_cast<ElementType>(row.type)) {
  case ElementType::boolean:
  case ElementType::u1:
    return blob.u8(0);
  case ElementType::i1:
    return static_cast<std::uint64_t>(static_cast<std::int8_t>(blob.u8(0)));
  case ElementType::char_:
  case ElementType::u2:
    return blob.u16(0);
  case ElementType::i2:
    return static_cast<std::uint64_t>(static_cast<std::int16_t>(blob.u16(0)));
  case ElementType::u4:
    return blob.u32(0);
  case ElementType::i4:
    return static_cast<std::uint64_t>(static_cast<std::int32_t>(blob.u32(0)));
  case ElementType::i8:
  case ElementType::u8:
    return blob.u64(0);
  default:
    throw Error(ErrorKind::corrupt, blob.begin(), "an enumerator that is no integer");
  }
}

constexpr unsigned max_repeated_nesting = 16; // structures of one field within each other

// Bytes of the name of a type with tuples: those of the types that it is made of, too.
std::size_t size_with_parts(const TypeName& type, unsigned depth, std::size_t& steps) {
  if (depth > max_tuple_nesting || ++steps > max_tuple_steps) return 0;
  std::size_t size = size_in_memory(type);
  if (type.element) size += size_with_parts(*type.element, depth + 1, steps);
  for (const TypeNamePtr& argument : type.arguments)
    if (argument) size += size_with_parts(*argument, depth + 1, steps);
  return size;
}

template<typename Act>
void attempt_part(std::string& problem, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    if (problem.empty()) problem = error.what();
  }
}

} // namespace

const FieldLayout* TypeLayout::field(std::string_view field_name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldLayout& field) {
    return !field.is_static && field.name == field_name;
  });
  return found == fields.end() ? nullptr : &*found;
}

std::vector<const FieldLayout*> TypeLayout::declared_fields() const {
  std::vector<const FieldLayout*> declared;
  for (const FieldLayout& one : fields)
    if (!one.is_static) declared.push_back(&one);
  std::ranges::stable_sort(declared, {}, &FieldLayout::token);
  return declared;
}

const TypeLayout& TypeLayouts::of(Address method_table) {
  method_table = finder_->target().platform().wrap(method_table);
  if (const auto known = layouts_.find(method_table); known != layouts_.end()) return *known->second;
  const std::size_t before = bytes_;
  try {
    keep(sizeof(TypeLayout));
    auto layout = std::make_unique<TypeLayout>(read(method_table));
    return *(layouts_[method_table] = std::move(layout));
  } catch (const Error&) {
    bytes_ = before; // nothing is kept of it, and somebody may ask for each of many objects
    throw;
  }
}

void TypeLayouts::keep(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > max_all_bytes) throw Error(ErrorKind::corrupt, "the fields of all types take too much memory");
}

void TypeLayouts::forget() {
  layouts_.clear();
  tuple_names_.clear();
  bytes_ = 0;
}

std::uint32_t TypeLayouts::size_of(const TypeUse& type) {
  const unsigned pointer = finder_->target().pointer_size();
  switch (type.kind) {
  case TypeUse::Kind::number:
    return size_of_number(type.number, pointer);
  case TypeUse::Kind::reference:
  case TypeUse::Kind::array:
  case TypeUse::Kind::pointer:
  case TypeUse::Kind::byref:
    return pointer;
  case TypeUse::Kind::value:
    try {
      return of(type.method_table).size;
    } catch (const Error&) {
      return 0;
    }
  case TypeUse::Kind::unknown:
  case TypeUse::Kind::nothing:
    return 0;
  }
  return 0;
}

TypeLayout TypeLayouts::read(Address method_table) {
  const Target& target = finder_->target();
  const unsigned pointer = target.pointer_size();
  const RuntimeType& type = finder_->names().types().type(method_table);
  TypeLayout layout;
  layout.table = type.table;
  layout.name = type.name ? type.name : unknown_type();
  layout.text = format_type(*layout.name);
  keep(layout.text.size());
  layout.module = type.module ? type.module->module.address : 0;
  layout.type_def =
      type.table.typedef_rid() == 0 ? 0 : token_of(MetadataTable::type_def, type.table.typedef_rid());
  if (!type.fault.empty()) layout.problem = type.fault;
  const MethodTable& table = layout.table;
  if (table.is_array()) {
    layout.kind = TypeLayout::Kind::array;
    layout.rank = finder_->names().types().tables().array_rank(table);
    layout.element = finder_->of_handle(table.per_inst_info);
    layout.element_size = table.flags & 0xffff;
    layout.size = static_cast<std::uint32_t>(target.size_of("Array"));
    return layout;
  }
  if (table.has_component_size()) {
    layout.kind = TypeLayout::Kind::string;
    layout.element_size = table.flags & 0xffff;
  } else if (table.category() == category_interface) {
    layout.kind = TypeLayout::Kind::interface;
    layout.size = pointer;
    return layout;
  } else if (table.is_value_type()) {
    layout.kind = table.category() == category_enum        ? TypeLayout::Kind::enumeration
                  : table.category() == category_primitive ? TypeLayout::Kind::number
                                                           : TypeLayout::Kind::value;
  }
  if (layout.kind == TypeLayout::Kind::string && !target.find_offset("EEClass", "NumInstanceFields")) {
    layout.size = pointer; // the layout of its text is separate
    return layout;
  }
  if (table.continuation && table.base_size >= 2 * pointer &&
      table.base_size - 2 * pointer <= max_instance_size) {
    // All of them share one class, which knows nothing of their sizes; what a method keeps in one has no
    // names.
    layout.size = table.base_size - pointer;
    return layout;
  }
  target.offset("EEClass", "NumInstanceFields"); // without it, how a class counts its bytes is unknown
  // EEClass counts the header, the method table pointer and the alignment as padding.
  const std::uint32_t padding =
      target.read_u8(target.field_address(table.ee_class, "EEClass", "BaseSizePadding"));
  if (table.base_size < padding || padding < 2 * pointer || padding > 3 * pointer ||
      table.base_size - padding > max_instance_size) {
    if (layout.kind != TypeLayout::Kind::string)
      throw_corrupt(table.address,
                    fmt::format("a type of {} bytes with {} bytes of padding", table.base_size, padding));
    layout.size = pointer;
  } else {
    layout.size = table.base_size - padding + (table.is_value_type() ? 0 : pointer);
  }
  if (layout.kind == TypeLayout::Kind::enumeration || layout.kind == TypeLayout::Kind::number)
    layout.number = static_cast<ElementType>(
        target.read_u8(target.field_address(table.ee_class, "EEClass", "InternalCorElementType")));
  attempt_part(layout.problem, [&] { add_fields(layout); });
  if (layout.kind == TypeLayout::Kind::enumeration)
    attempt_part(layout.problem, [&] { add_enumerators(layout); });
  if (layout.kind == TypeLayout::Kind::value)
    attempt_part(layout.problem, [&] { layout.repeats = repeats_of(layout); });
  return layout;
}

// The compilers make a structure of one field, and say how large it is; the runtime repeats it.
std::uint32_t TypeLayouts::repeats_of(const TypeLayout& layout) {
  const auto is_instance = [](const FieldLayout& field) { return !field.is_static; };
  if (std::ranges::count_if(layout.fields, is_instance) != 1 || layout.type_def == 0 || layout.module == 0)
    return 1;
  const FieldLayout& only = *std::ranges::find_if(layout.fields, is_instance);
  if (only.offset != 0 || repeating_ == max_repeated_nesting) return 1;
  ++repeating_; // a damaged type may contain itself
  const std::uint32_t size = size_of(*only.type);
  --repeating_;
  if (size == 0 || layout.size <= size || layout.size % size != 0) return 1;
  const bool repeated =
      only.name == "FixedElementField" ||
      finder_->names().named_modules().at(layout.module).metadata.with([&](MetadataNames& names) {
        return find_attribute(names, layout.type_def, "System.Runtime.CompilerServices",
                              "InlineArrayAttribute")
            .has_value();
      });
  return repeated ? layout.size / size : 1;
}

void TypeLayouts::add_fields(TypeLayout& layout) {
  const Target& target = finder_->target();
  const unsigned pointer = target.pointer_size();
  const MethodTable& table = layout.table;
  if (layout.type_def == 0 || layout.module == 0) return;
  const auto count_of = [&](Address ee_class, std::string_view field) {
    return std::uint32_t{target.read_u16(target.field_address(ee_class, "EEClass", field))};
  };
  std::uint32_t inherited = 0;
  if (table.parent != 0) {
    const MethodTable& parent = finder_->names().types().type(table.parent).table;
    inherited = count_of(parent.ee_class, "NumInstanceFields");
  }
  const std::uint32_t all = count_of(table.ee_class, "NumInstanceFields");
  if (all < inherited) throw_corrupt(table.address, "a type with fewer fields than its base");
  const std::uint32_t count = all - inherited + count_of(table.ee_class, "NumStaticFields");
  if (count == 0) return;
  if (count > max_fields) throw_corrupt(table.address, fmt::format("a type of {} fields", count));
  const Address list = target.read_pointer(target.field_address(table.ee_class, "EEClass", "FieldDescList"));
  if (list == 0) throw_corrupt(table.address, "a type without its list of fields");
  const std::vector<Address> arguments = finder_->names().types().tables().generic_arguments(table);
  const TypeScope scope{.module = layout.module, .class_arguments = arguments};
  const std::uint64_t stride = target.size_of("FieldDesc");
  const std::uint32_t last_real_offset = last_real_offset_of(target);
  const std::uint32_t limit = table.is_value_type() ? layout.size : layout.size - pointer;
  keep(count * sizeof(FieldLayout));
  FieldTypes types;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Address at = list + i * stride;
    const std::uint32_t first = target.read_u32(target.field_address(at, "FieldDesc", "DWord1"));
    const std::uint32_t second = target.read_u32(target.field_address(at, "FieldDesc", "DWord2"));
    FieldLayout field{.token = token_of(MetadataTable::field, first & rid_mask), .type = unknown_use()};
    field.is_static = (first & is_static_bit) != 0;
    field.thread_static = (first & thread_static_bit) != 0;
    const std::uint32_t offset = second & offset_mask;
    attempt_part(layout.problem, [&] { name_field(field, scope, types); });
    if (field.is_static) {
      const auto type = static_cast<std::uint8_t>(second >> offset_bits);
      field.in_gc_statics = type == type_value || is_reference_type(type);
      field.boxed = type == type_value;
      field.in_image = (first & rva_bit) != 0;
      if (offset < last_real_offset) field.offset = offset;
      attempt_part(layout.problem, [&] {
        if (!field.in_image && !field.thread_static && offset < last_real_offset)
          place_static(field, table, offset);
      });
    } else {
      // The first character of a string lies where the elements begin, behind the fields.
      const bool fits = offset < limit || (layout.kind == TypeLayout::Kind::string && offset <= limit);
      if (!fits) {
        if (layout.problem.empty())
          layout.problem = fmt::format("a field at {} of a type of {} bytes", offset, limit);
        continue;
      }
      field.offset = offset;
    }
    layout.fields.push_back(std::move(field));
  }
  std::stable_sort(layout.fields.begin(), layout.fields.end(),
                   [](const FieldLayout& a, const FieldLayout& b) {
                     return a.is_static != b.is_static ? b.is_static : a.offset < b.offset;
                   });
}

void TypeLayouts::name_field(FieldLayout& field, const TypeScope& scope, FieldTypes& types) {
  const std::uint32_t rid = rid_of(field.token);
  const FieldRow row =
      finder_->names().named_modules().at(scope.module).metadata.with([&](MetadataNames& names) {
        const FieldRow found = names.metadata().field(rid);
        std::string name = names.metadata().string(found.name);
        keep(name.size());
        field.name = std::move(name);
        return found;
      });
  const auto [known, is_new] = types.by_signature.try_emplace(row.signature, field.type);
  if (is_new) {
    known->second = finder_->field(rid, scope);
    keep(finder_->made_bytes());
  }
  field.type = known->second;
  if (naming_) return;
  const auto [tuples, is_new_name] = types.with_tuples.try_emplace(field.type->name.get(), false);
  if (is_new_name) tuples->second = has_tuple(*field.type->name);
  if (!tuples->second) return;
  naming_ = true; // the types of a target that does harm may lead back into themselves
  try {
    field.type = with_tuple_names(*this, field.type, tuple_names_of(scope.module, field.token),
                                  !scope.class_arguments.empty());
  } catch (const Error&) {
    // Its elements have numbers.
  }
  naming_ = false;
  std::size_t steps = 0;
  keep(size_with_parts(*field.type->name, 0, steps));
}

std::vector<std::string> TypeLayouts::tuple_names_of(Address module, std::uint32_t token) {
  const std::pair key(module, token);
  if (const auto known = tuple_names_.find(key); known != tuple_names_.end()) return known->second;
  auto found = finder_->names().named_modules().at(module).metadata.with([&](MetadataNames& names) {
    const auto value =
        find_attribute(names, token, "System.Runtime.CompilerServices", "TupleElementNamesAttribute");
    return value ? attribute_texts(*value) : std::vector<std::string>();
  });
  std::size_t size = sizeof(key) + sizeof(found);
  for (const std::string& name : found) size += sizeof(name) + name.size();
  keep(size);
  return tuple_names_.emplace(key, std::move(found)).first->second;
}

void TypeLayouts::place_static(FieldLayout& field, const MethodTable& table, std::uint32_t offset) {
  const Target& target = finder_->target();
  if ((table.flags2 & dynamic_statics) == 0 || !target.has_type("DynamicStaticsInfo")) return;
  const Address auxiliary =
      target.read_pointer(target.field_address(table.address, "MethodTable", "AuxiliaryData"));
  if (auxiliary == 0) return;
  const Address info = auxiliary - target.size_of("DynamicStaticsInfo");
  const Address base = target.read_pointer(
      target.field_address(info, "DynamicStaticsInfo", field.in_gc_statics ? "GCStatics" : "NonGCStatics"));
  const Address mask = target.find_global("StaticsPointerMask").value_or(~Address{1});
  if ((base & mask) == 0) return;
  field.address = target.platform().wrap((base & mask) + offset);
}

void TypeLayouts::add_enumerators(TypeLayout& layout) {
  if (layout.type_def == 0 || layout.module == 0) return;
  finder_->names().named_modules().at(layout.module).metadata.with([&](MetadataNames& names) {
    layout.enumerators.clear();
    const Metadata& metadata = names.metadata();
    const auto [first, last] = metadata.field_range(rid_of(layout.type_def));
    std::size_t text = 0;
    for (std::uint32_t i = first; i < last && layout.enumerators.size() < max_enumerators; ++i) {
      const std::uint32_t rid = metadata.field_at(i);
      const FieldRow row = metadata.field(rid);
      if (!row.literal()) continue;
      const auto constant = metadata.constant_of_field(rid);
      if (!constant) continue;
      std::string name = metadata.string(row.name);
      text += name.size();
      if (text > max_enumerator_text) {
        if (layout.problem.empty()) layout.problem = "an enumeration whose names are too long";
        break;
      }
      keep(sizeof(objects::Enumerator) + name.size());
      layout.enumerators.push_back({.name = std::move(name), .value = constant_value(metadata, *constant)});
    }
    layout.flags = find_attribute(names, layout.type_def, "System", "FlagsAttribute").has_value();
  });
}

} // namespace clr
