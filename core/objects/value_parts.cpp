#include "core/objects/value_parts.h"

#include "core/objects/field_names.h"
#include "core/objects/fsharp_union.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace clr {
namespace {

// Items that are walked to at once: a debugger asks for the first ones one after the other.
constexpr std::uint64_t least_walk = 256;

} // namespace

ValueParts ValueParts::of_object(ObjectReader& reader, Address object) {
  const Target& target = reader.finder().target();
  object = target.platform().wrap(object);
  const TypeLayout& layout = reader.layouts().of(reader.method_table_of(object));
  ValueParts parts;
  if (layout.kind == TypeLayout::Kind::array)
    parts.set_array(target, layout, object);
  else
    parts.set(reader, layout, target.platform().wrap(object + target.pointer_size()));
  return parts;
}

ValueParts ValueParts::of_value(ObjectReader& reader, Address method_table, Address at) {
  ValueParts parts;
  parts.set(reader, reader.layouts().of(method_table), reader.finder().target().platform().wrap(at));
  return parts;
}

void ValueParts::set(ObjectReader& reader, const TypeLayout& layout, Address at) {
  const bool simple = layout.kind == TypeLayout::Kind::string || layout.kind == TypeLayout::Kind::number ||
                      layout.kind == TypeLayout::Kind::enumeration;
  if (simple) return;
  if (layout.repeats > 1) return set_repeated(layout, at);
  InstanceReader instances(reader);
  bool collection = false;
  try {
    collection = visit_collection(instances, {layout, at},
                                  {.count = [&](std::uint64_t count) { count_ = std::min(count, max_kept); },
                                   .item = [](const CollectionItem&) { return false; }});
  } catch (const Error&) {
    // One that cannot be walked is shown by its fields.
    count_ = 0;
  }
  if (!collection) return add_fields(reader, layout, at);
  kind_ = Kind::items;
  method_table_ = layout.table.address;
  value_ = at;
}

void ValueParts::set_repeated(const TypeLayout& layout, Address at) {
  kind_ = Kind::elements;
  element_ = layout.declared_fields().front()->type;
  first_ = at;
  stride_ = layout.size / layout.repeats;
  count_ = layout.repeats;
}

void ValueParts::set_array(const Target& target, const TypeLayout& layout, Address object) {
  kind_ = Kind::elements;
  element_ = layout.element;
  first_ = object + target.size_of("Array");
  stride_ = layout.element_size;
  count_ = target.read_u32(target.field_address(object, "Array", "m_NumComponents"));
  if (layout.table.is_szarray() || layout.rank == 0) return;
  const std::uint64_t all = count_;
  std::uint64_t product = 1;
  for (std::uint32_t i = 0; i < layout.rank; ++i) {
    const std::uint32_t length = target.read_u32(first_ + sizeof(std::uint32_t) * i);
    if (i == 0)
      count_ = length;
    else
      lengths_.push_back(length);
    if (length != 0 && product > UINT32_MAX / length) throw_corrupt(object, "an array that is too long");
    product *= length;
  }
  if (product != all)
    throw_corrupt(object, fmt::format("an array of {} elements in {} places", all, product));
  lower_ = target.read_i32(first_ + sizeof(std::uint32_t) * layout.rank);
  first_ += 2 * sizeof(std::uint32_t) * layout.rank;
  for (const std::uint32_t length : lengths_) stride_ *= length;
}

// The runtime places fields as they fit; people know the order in which they wrote them.
void ValueParts::add_fields(ObjectReader& reader, const TypeLayout& layout, Address at) {
  InstanceReader instances(reader);
  std::optional<UnionCase> one;
  try {
    one = union_case(instances, {layout, at});
  } catch (const Error&) {
    // A value whose case is not known is shown by its fields.
  }
  if (one) {
    for (const UnionField& field : one->fields)
      kept_.push_back({.name = field.name, .type = field.field->type, .at = at + field.field->offset});
    count_ = kept_.size();
    return;
  }
  for (const TupleElement& element : tuple_elements(
           reader.layouts(),
           {.kind = TypeUse::Kind::value, .method_table = layout.table.address, .name = layout.name}))
    kept_.push_back({.name = element.name, .type = element.type, .at = at + element.offset});
  count_ = kept_.size();
  if (count_ != 0) return;
  std::vector<const TypeLayout*> chain{&layout};
  while (chain.back()->table.parent != 0 && chain.size() < TypeLayouts::max_base_types) {
    try {
      chain.push_back(&reader.layouts().of(chain.back()->table.parent));
    } catch (const Error&) {
      break; // the fields of the type itself are known
    }
  }
  std::unordered_map<std::string, std::size_t> by_name;
  for (auto type = chain.rbegin(); type != chain.rend(); ++type) {
    for (const FieldLayout* field : (*type)->declared_fields()) {
      if (field->name.empty()) continue;
      if (kept_.size() >= max_fields) break;
      std::string name = source_name_of_field(field->name);
      const auto [known, is_new] = by_name.try_emplace(name, kept_.size());
      if (!is_new) {
        // A field of a base type that a field of the same name hides.
        kept_[known->second].name += " (hidden)";
        known->second = kept_.size();
      }
      kept_.push_back({.name = std::move(name), .type = field->type, .at = at + field->offset});
    }
  }
  count_ = kept_.size();
}

std::string ValueParts::bracketed(std::uint64_t index) const {
  return fmt::format("[{}]", static_cast<std::int64_t>(index) + lower_);
}

void ValueParts::walk(ObjectReader& reader, std::uint64_t wanted) {
  InstanceReader instances(reader);
  std::vector<ValuePart> items;
  std::uint64_t steps = TextLimits::max_shared_steps; // of the texts of all keys
  visit_collection(instances, {reader.layouts().of(method_table_), value_},
                   {.count = [](std::uint64_t) {},
                    .item =
                        [&](const CollectionItem& item) {
                          if (items.size() >= wanted) return false;
                          std::string name = bracketed(items.size());
                          if (item.key_type)
                            name = fmt::format(
                                "[{}]",
                                reader.describe_value(*item.key_type, item.key,
                                                      {.string_units = 64, .text = 80, .steps = &steps}));
                          items.push_back({.name = std::move(name),
                                           .type = item_with_names(reader.layouts(), item.type, names_),
                                           .at = item.at});
                          return true;
                        }});
  if (items.size() < wanted) count_ = items.size();
  kept_ = std::move(items);
}

std::optional<ValuePart> ValueParts::at(ObjectReader& reader, std::uint64_t index) {
  if (index >= count_) return std::nullopt;
  if (kind_ == Kind::elements)
    return ValuePart{.name = bracketed(index),
                     .type = item_with_names(reader.layouts(), element_, names_),
                     .at = first_ + index * stride_,
                     .lengths = lengths_};
  if (kind_ == Kind::items && index >= kept_.size())
    walk(reader, std::min(std::max(2 * (index + 1), least_walk), count_));
  if (index >= kept_.size()) return std::nullopt;
  return kept_[static_cast<std::size_t>(index)];
}

std::optional<std::uint64_t> ValueParts::find(std::string_view name) const {
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (kept_[i].name == name) return i;
  if (kind_ == Kind::fields || name.size() < 3 || name.front() != '[' || name.back() != ']')
    return std::nullopt;
  std::int64_t number = 0;
  const char* const end = name.data() + name.size() - 1;
  const auto [last, error] = std::from_chars(name.data() + 1, end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  const std::uint64_t index =
      static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(std::int64_t{lower_});
  return number >= lower_ && index < count_ ? std::optional(index) : std::nullopt;
}

} // namespace clr
