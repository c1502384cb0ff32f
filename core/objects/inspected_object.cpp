#include "core/objects/inspected_object.h"

#include "core/objects/collections.h"
#include "core/objects/field_names.h"
#include "core/objects/known_values.h"
#include "core/objects/tuple_names.h"

#include <algorithm>
#include <bit>

namespace clr {
namespace {

using Kind = InspectedValue::Kind;

void read_number(InspectedValue& value, InstanceReader& reader, ElementType number, Address at) {
  value.bits = reader.number(number, at);
  switch (number) {
  case ElementType::boolean:
    value.kind = Kind::boolean;
    return;
  case ElementType::char_:
    value.kind = Kind::character;
    return;
  case ElementType::r4:
    value.kind = Kind::real;
    value.real = std::bit_cast<float>(static_cast<std::uint32_t>(value.bits));
    return;
  case ElementType::r8:
    value.kind = Kind::real;
    value.real = std::bit_cast<double>(value.bits);
    return;
  default:
    value.kind = is_signed_number(number) ? Kind::integer : Kind::cardinal;
  }
}

void read_value(InspectedValue& value, InstanceReader& reader, const TypeUse& type, Address at,
                const TextLimits& limits) {
  ObjectReader& objects = reader.objects();
  const Target& target = reader.target();
  switch (type.kind) {
  case TypeUse::Kind::number:
    read_number(value, reader, type.number, at);
    break;
  case TypeUse::Kind::pointer:
  case TypeUse::Kind::byref:
    value.bits = target.read_pointer(at);
    value.kind = Kind::cardinal;
    break;
  case TypeUse::Kind::reference:
  case TypeUse::Kind::array:
    value.object = target.read_pointer(at);
    value.kind = Kind::reference;
    if (value.object == 0) return;
    value.object_type = objects.layouts().of(objects.method_table_of(value.object)).text;
    break;
  case TypeUse::Kind::value:
    objects.layouts().of(type.method_table);
    // The first byte says whether the rest can be there at all.
    target.read_u8(at);
    value.kind = Kind::text;
    break;
  case TypeUse::Kind::nothing:
  case TypeUse::Kind::unknown:
    throw Error(ErrorKind::unsupported_contract, "its type is not loaded, or cannot be found");
  }
  value.text = objects.describe_value(type, at, limits);
}

// The bytes that an object takes in the heap.
std::uint64_t heap_size(const Target& target, const TypeLayout& layout, Address object) {
  const std::uint64_t pointer = target.pointer_size();
  std::uint64_t size = layout.table.base_size;
  if (layout.table.has_component_size()) {
    const bool string = layout.kind == TypeLayout::Kind::string;
    size += std::uint64_t{layout.element_size} *
            target.read_u32(string ? target.field_address(object, "String", "m_StringLength")
                                   : target.field_address(object, "Array", "m_NumComponents"));
  }
  const std::uint64_t least = 3 * pointer; // header, method table and one word
  return std::max(least, (size + pointer - 1) / pointer * pointer);
}

constexpr const char* more_fields = "it has more fields, which are not shown";

class Inspection {
public:
  Inspection(ObjectReader& objects, const InspectionLimits& limits)
      : objects_(objects), reader_(objects), limits_(limits), text_limits_(limits.text) {
    if (text_limits_.steps == nullptr) text_limits_.steps = &steps_;
  }
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // The fields of a type and of its base types, the outermost first.
  void add_fields(std::vector<InspectedField>& fields, const TypeLayout& layout, Address at,
                  std::uint32_t header, std::string& fault, unsigned depth = 0) {
    std::vector<const TypeLayout*> chain{&layout};
    while (chain.back()->table.parent != 0 && chain.size() < TypeLayouts::max_base_types) {
      try {
        chain.push_back(&objects_.layouts().of(chain.back()->table.parent));
      } catch (const Error& error) {
        fault = error.what();
        break;
      }
    }
    for (auto type = chain.rbegin(); type != chain.rend(); ++type) {
      if (fault.empty()) fault = (*type)->problem;
      for (const FieldLayout& part : (*type)->fields) {
        if (part.is_static) continue;
        const std::uint32_t repeats = (*type)->repeats, stride = (*type)->size / repeats;
        for (std::uint32_t i = 0; i < repeats; ++i) {
          if (fields_ == InspectionLimits::max_fields) cut_ = true;
          if (cut_) break;
          ++fields_;
          const std::uint32_t offset = part.offset + i * stride;
          InspectedField field{.name = repeats == 1 ? part.name : fmt::format("[{}]", i),
                               .property = property_of(part.name),
                               .declared_in = (*type)->text,
                               .offset = header + offset,
                               .value = inspect_value(objects_, *part.type, at + offset, text_limits_),
                               .fields = {}};
          if (depth < limits_.structure_depth)
            add_structure(field.fields, *part.type, at + offset, depth + 1);
          fields.push_back(std::move(field));
        }
      }
    }
    if (cut_ && fault.empty()) fault = more_fields;
  }

  void add_structure(std::vector<InspectedField>& fields, const TypeUse& type, Address at, unsigned depth) {
    if (type.kind != TypeUse::Kind::value) return;
    try {
      const TypeLayout& layout = objects_.layouts().of(type.method_table);
      std::string fault;
      if (type.tuple_names) return add_elements_of_tuple(fields, type, at, layout.text, depth);
      if (layout.kind == TypeLayout::Kind::value) add_fields(fields, layout, at, 0, fault, depth);
    } catch (const Error&) {
      // The value's own fault says why.
    }
  }

  void add_elements_of_tuple(std::vector<InspectedField>& fields, const TypeUse& type, Address at,
                             const std::string& declared_in, unsigned depth) {
    for (const TupleElement& element : tuple_elements(objects_.layouts(), type)) {
      if (fields_ == InspectionLimits::max_fields) cut_ = true;
      if (cut_) return;
      ++fields_;
      InspectedField field{.name = element.name,
                           .property = {},
                           .declared_in = declared_in,
                           .offset = element.offset,
                           .value = inspect_value(objects_, *element.type, at + element.offset, text_limits_),
                           .fields = {}};
      if (depth < limits_.structure_depth)
        add_structure(field.fields, *element.type, at + element.offset, depth + 1);
      fields.push_back(std::move(field));
    }
  }

  bool cut() const { return cut_; }

  void add_items(InspectedObject& object, const TypeLayout& layout) {
    if (layout.kind == TypeLayout::Kind::array) return add_elements(object, layout);
    visit_collection(reader_, {layout, object.address + reader_.target().pointer_size()},
                     {.count = [&](std::uint64_t count) { object.item_count = count; },
                      .item =
                          [&](const CollectionItem& item) {
                            if (object.items.size() >= most_items() || gives_up(object)) return false;
                            InspectedItem row;
                            if (item.key_type)
                              row.key = inspect_value(objects_, *item.key_type, item.key, text_limits_);
                            row.value = inspect_value(objects_, *item.type, item.at, text_limits_);
                            object.items.push_back(std::move(row));
                            return true;
                          }});
  }

private:
  bool gives_up(InspectedObject& object) const {
    constexpr std::size_t often = 64; // elements; to ask a debugger takes time
    if (object.items.size() % often != 0 || !limits_.stop || !limits_.stop()) return false;
    object.fault = "interrupted: it has more elements, which were not read";
    return true;
  }

  std::uint64_t most_items() const { return std::min(limits_.items, InspectionLimits::max_items); }

  void add_elements(InspectedObject& object, const TypeLayout& layout) {
    const Target& target = reader_.target();
    const std::uint32_t count =
        target.read_u32(target.field_address(object.address, "Array", "m_NumComponents"));
    object.item_count = count;
    Address data = object.address + target.size_of("Array");
    if (!layout.table.is_szarray()) data += 2 * sizeof(std::uint32_t) * layout.rank; // lengths, lower bounds
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, most_items()) && !gives_up(object); ++i)
      object.items.push_back(
          {.key = {},
           .value = inspect_value(objects_, *layout.element, data + i * layout.element_size, text_limits_)});
  }

  ObjectReader& objects_;
  InstanceReader reader_;
  const InspectionLimits& limits_;
  TextLimits text_limits_;
  std::uint64_t steps_ = TextLimits::max_shared_steps; // that texts may look at yet
  std::size_t fields_ = 0;                             // those of structures included
  bool cut_ = false;                                   // there are more
};

} // namespace

std::string shown_text(const InspectedValue& value) {
  if (!value.fault.empty()) return "<" + value.fault + ">";
  return value.kind == Kind::reference && value.object == 0 ? "null" : value.text;
}

std::string shown_type(const InspectedValue& value) {
  if (value.object_type.empty() || value.object_type == value.type) return value.type;
  return value.object_type + " (" + value.type + ")";
}

InspectedValue inspect_value(ObjectReader& reader, const TypeUse& type, Address at,
                             const TextLimits& limits) {
  InspectedValue value;
  value.type = format_type(*type.name);
  InstanceReader instances(reader);
  try {
    read_value(value, instances, type, instances.target().platform().wrap(at), limits);
  } catch (const Error& error) {
    // A reference is known even when nothing is known of its object.
    if (value.kind != Kind::reference) value.kind = Kind::unknown;
    value.fault = error.what();
  }
  return value;
}

std::vector<InspectedField> inspect_structure(ObjectReader& reader, const TypeUse& type, Address at,
                                              const InspectionLimits& limits) {
  std::vector<InspectedField> fields;
  Inspection inspection(reader, limits);
  inspection.add_structure(fields, type, reader.finder().target().platform().wrap(at), 0);
  if (inspection.cut()) fields.push_back({.name = "...", .value = {.fault = more_fields}});
  return fields;
}

void require_object_header(const Target& target, Address object) {
  if (target.pointer_size() != 8) return; // no part of a shorter header is always the same
  constexpr Address padding = 8;
  std::uint32_t pad = 0;
  try {
    pad = target.read_u32(object - padding);
  } catch (const Error&) {
    return; // a core may hold an object without its header
  }
  if (pad != 0) throw_corrupt(object, "no object begins there: the word before it is no header");
}

InspectedObject inspect_object(ObjectReader& reader, Address object, const InspectionLimits& limits) {
  require_object_header(reader.finder().target(), reader.finder().target().platform().wrap(object));
  return inspect_object_as(reader, object, reader.method_table_of(object), limits);
}

InspectedObject inspect_object_as(ObjectReader& reader, Address object, Address method_table,
                                  const InspectionLimits& limits) {
  const Target& target = reader.finder().target();
  object = target.platform().wrap(object);
  const TypeLayout& layout = reader.layouts().of(method_table);
  InspectedObject result;
  result.address = object;
  result.method_table = layout.table.address;
  result.type = layout.text;
  result.size = heap_size(target, layout, object);
  result.text = reader.describe_object(object, limits.text);
  Inspection inspection(reader, limits);
  try {
    if (layout.kind != TypeLayout::Kind::array && layout.kind != TypeLayout::Kind::string)
      inspection.add_fields(result.fields, layout, object + target.pointer_size(), target.pointer_size(),
                            result.fault);
    inspection.add_items(result, layout);
  } catch (const Error& error) {
    result.fault = error.what();
  }
  return result;
}

} // namespace clr
