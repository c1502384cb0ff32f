#include "core/objects/object_path.h"

#include "core/objects/collections.h"
#include "core/objects/fsharp_union.h"
#include "core/objects/returned_fields.h"
#include "core/objects/tuple_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace clr {
namespace {

constexpr std::size_t max_key = 1'000'000; // UTF-16 units of a key that is compared

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::invalid_argument, text);
}

using Indices = std::vector<std::int64_t>;
using Key = std::variant<Indices, std::string>;

// Reads the steps of a path, one after the other.
class Steps {
public:
  explicit Steps(std::string_view path) : path_(path) {}

  bool more() const { return at_ < path_.size(); }
  bool is_index() const { return path_[at_] == '['; }

  std::string name() {
    if (path_[at_] == '.') ++at_;
    const std::size_t begin = at_;
    // The names that compilers make have angle brackets, which may hold dots.
    for (unsigned depth = 0; at_ < path_.size(); ++at_) {
      const char c = path_[at_];
      if (c == '<') ++depth;
      if (c == '>' && depth != 0) --depth;
      if (depth == 0 && (c == '.' || c == '[')) break;
    }
    if (at_ == begin) refuse(fmt::format("the path {} has a dot without a name", path_));
    return std::string(path_.substr(begin, at_ - begin));
  }

  Key key() {
    ++at_;
    if (at_ < path_.size() && (path_[at_] == '"' || path_[at_] == '\'')) return text_key(path_[at_]);
    const std::size_t end = path_.find(']', at_);
    if (end == std::string_view::npos) refuse(fmt::format("the path {} has a [ without its ]", path_));
    // A shell or debugger may have taken the quotes away.
    const std::string_view text = path_.substr(at_, end - at_);
    at_ = end + 1;
    Indices indices;
    for (std::string_view rest = text;; rest.remove_prefix(1)) {
      skip_spaces(rest);
      std::int64_t number = 0;
      const auto [last, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
      if (error != std::errc()) return std::string(text);
      indices.push_back(number);
      rest.remove_prefix(static_cast<std::size_t>(last - rest.data()));
      skip_spaces(rest);
      if (rest.empty()) return indices;
      if (rest.front() != ',') return std::string(text);
    }
  }

private:
  static void skip_spaces(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }

  Key text_key(char quote) {
    std::string text;
    for (++at_; at_ < path_.size() && path_[at_] != quote; ++at_) {
      if (path_[at_] == '\\' && at_ + 1 < path_.size()) ++at_;
      text += path_[at_];
    }
    if (at_ + 1 >= path_.size() || path_[at_ + 1] != ']')
      refuse(fmt::format("the path {} has a text without its end", path_));
    at_ += 2;
    return text;
  }

  std::string_view path_;
  std::size_t at_ = 0;
};

class Walk {
public:
  explicit Walk(ObjectReader& objects) : objects_(objects), reader_(objects) {}

  Instance object(Address address) { return reader_.of_object(address); }

  // The instance at a place: the object that a reference leads to, or the structure itself.
  Instance instance(const ValuePlace& place, const std::string& step) {
    if (place.type->is_reference()) {
      const Address address = reader_.target().read_pointer(place.at);
      if (address == 0) refuse(fmt::format("there is a null where {} is looked for", step));
      return reader_.of_object(address);
    }
    if (place.type->kind != TypeUse::Kind::value)
      refuse(fmt::format("{} has no part {}", format_type(*place.type->name), step));
    return {objects_.layouts().of(place.type->method_table), place.at};
  }

  // The part `name` of the value at `place`, or of the object at `object` where there is none.
  ValuePlace part(const std::optional<ValuePlace>& place, Address object, const std::string& name) {
    if (place)
      for (const TupleElement& element : tuple_elements(objects_.layouts(), *place->type))
        if (element.name == name) return {element.type, place->at + element.offset};
    return field(place ? instance(*place, name) : this->object(object), name);
  }

  ValuePlace field(const Instance& instance, const std::string& name) {
    auto found = reader_.find(instance, name);
    if (!found)
      if (const auto one = union_case(reader_, instance))
        for (const UnionField& field : one->fields)
          if (field.name == name) found = FieldPlace{field.field, instance.fields + field.field->offset};
    if (!found) found = find_returned_field(reader_, instance, name);
    if (!found)
      refuse(fmt::format("{} has no field {}, and no property that only returns one", instance.layout.text,
                         name));
    return {found->field->type, found->at};
  }

  // The element, with the names that the declared type of the collection has for it.
  ValuePlace element(const Instance& instance, const Key& key, std::string_view declared) {
    ValuePlace found = element_of(instance, key);
    found.type = item_with_names(objects_.layouts(), found.type, named_arguments(declared));
    return found;
  }

private:
  ValuePlace element_of(const Instance& instance, const Key& key) {
    if (instance.layout.kind == TypeLayout::Kind::array) {
      if (const auto* indices = std::get_if<Indices>(&key)) return of_array(instance, *indices);
      refuse(fmt::format("{} takes numbers", instance.layout.text));
    }
    std::optional<ValuePlace> found;
    std::uint64_t count = 0, steps = TextLimits::max_shared_steps; // of the texts of all keys
    const std::optional<std::uint64_t> index = index_of(key);
    const bool known =
        visit_collection(reader_, instance,
                         {.count = [&](std::uint64_t all) { count = all; },
                          .item =
                              [&](const CollectionItem& item) {
                                if (item.key_type ? is_key(item, key, steps) : index.has_value())
                                  found = {item.type, item.at};
                                return !found && item.key_type;
                              },
                          .left_out = index.value_or(0)});
    if (!known) refuse(fmt::format("{} is no collection that is known here", instance.layout.text));
    if (!found) refuse(fmt::format("no such element among the {} of {}", count, instance.layout.text));
    return *found;
  }

  ValuePlace of_array(const Instance& instance, const Indices& indices) {
    const Target& target = reader_.target();
    const TypeLayout& layout = instance.layout;
    const Address object = instance.fields - target.pointer_size();
    Address data = object + target.size_of("Array");
    std::uint64_t place = 0;
    const std::uint32_t rank = layout.table.is_szarray() ? 1 : layout.rank;
    if (indices.size() != rank)
      refuse(fmt::format("{} takes {} numbers within one pair of brackets", layout.text, rank));
    if (layout.table.is_szarray()) {
      const std::uint32_t count = target.read_u32(target.field_address(object, "Array", "m_NumComponents"));
      place = checked(indices.front(), 0, count, layout);
    } else {
      for (std::uint32_t i = 0; i < rank; ++i) {
        const std::uint32_t length = target.read_u32(data + 4 * i);
        const std::int32_t lower = target.read_i32(data + 4 * (rank + i));
        place = place * length + checked(indices[i], lower, length, layout);
      }
      data += 2 * sizeof(std::uint32_t) * rank;
    }
    return {layout.element, data + place * layout.element_size};
  }

  static std::uint64_t checked(std::int64_t index, std::int64_t lower, std::uint32_t length,
                               const TypeLayout& layout) {
    const std::uint64_t place = static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(lower);
    if (index >= lower && place < length) return place;
    if (length == 0) refuse(fmt::format("{} is outside of {}, which has no elements", index, layout.text));
    refuse(fmt::format("{} is outside of {}, whose elements are {} to {}", index, layout.text, lower,
                       lower + length - 1));
  }

  // Of an element that has no key: its place in the order of the collection.
  static std::optional<std::uint64_t> index_of(const Key& key) {
    const auto* indices = std::get_if<Indices>(&key);
    if (indices == nullptr || indices->size() != 1 || indices->front() < 0) return std::nullopt;
    return static_cast<std::uint64_t>(indices->front());
  }

  bool is_key(const CollectionItem& item, const Key& key, std::uint64_t& steps) {
    const InspectedValue value =
        inspect_value(objects_, *item.key_type, item.key, {.string_units = 1, .text = 64, .steps = &steps});
    if (const auto* indices = std::get_if<Indices>(&key))
      return indices->size() == 1 &&
             (value.kind == InspectedValue::Kind::integer || value.kind == InspectedValue::Kind::cardinal) &&
             value.bits == static_cast<std::uint64_t>(indices->front());
    const std::string& text = std::get<std::string>(key);
    switch (value.kind) {
    case InspectedValue::Kind::text: // an enumerator
    case InspectedValue::Kind::boolean:
      return value.text == text;
    case InspectedValue::Kind::character:
      return reader_.target().read_utf16_units(item.key, 1) == text;
    case InspectedValue::Kind::cardinal: // one that is too large for an index
      return value.text == text;
    default:
      break;
    }
    return value.kind == InspectedValue::Kind::reference && value.object != 0 && is_text(value.object, text);
  }

  bool is_text(Address object, const std::string& text) {
    const Target& target = reader_.target();
    if (reader_.of_object(object).layout.kind != TypeLayout::Kind::string) return false;
    const std::uint32_t units = target.read_u32(target.field_address(object, "String", "m_StringLength"));
    if (units > max_key || units > text.size()) return false; // a unit takes at least a byte
    return target.read_utf16_units(target.field_address(object, "String", "m_FirstChar"), units) == text;
  }

  ObjectReader& objects_;
  InstanceReader reader_;
};

} // namespace

ValuePlace follow_path(ObjectReader& reader, Address object, std::string_view path,
                       std::string_view declared) {
  Walk walk(reader);
  Steps steps(path);
  std::optional<ValuePlace> place;
  while (steps.more()) {
    if (steps.is_index()) {
      const Key key = steps.key();
      const std::string type = place ? format_type(*place->type->name) : std::string(declared);
      place = walk.element(place ? walk.instance(*place, "an element") : walk.object(object), key, type);
    } else {
      const std::string name = steps.name();
      place = walk.part(place, object, name);
    }
  }
  if (!place) refuse("an empty path");
  return *place;
}

} // namespace clr
