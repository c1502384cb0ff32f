// The part of ObjectText that knows the framework's own types: their values, collections, exceptions,
// delegates.
#include "core/objects/known_values.h"
#include "core/objects/object_text.h"

#include <fmt/format.h>

#include <array>

namespace clr {

bool ObjectText::known_value(const Instance& what) {
  const std::string name = core_type_name(*what.layout.name);
  std::string text;
  if (name == "System.Nullable`1") {
    nullable(what);
    return true;
  }
  if (name == "System.DateTime") {
    text = format_date_data(integer(what, "_dateData"));
  } else if (name == "System.TimeSpan") {
    text = format_time_span(static_cast<std::int64_t>(integer(what, "_ticks")));
  } else if (name == "System.DateOnly") {
    text = format_date(static_cast<std::uint32_t>(integer(what, "_dayNumber")));
  } else if (name == "System.TimeOnly") {
    text = format_time_of_day(integer(what, "_ticks"));
  } else if (name == "System.Guid") {
    std::array<std::uint8_t, 8> rest{};
    for (std::size_t i = 0; i < rest.size(); ++i)
      rest[i] = static_cast<std::uint8_t>(integer(what, fmt::format("_{}", static_cast<char>('d' + i))));
    text = format_guid(static_cast<std::uint32_t>(integer(what, "_a")),
                       static_cast<std::uint16_t>(integer(what, "_b")),
                       static_cast<std::uint16_t>(integer(what, "_c")), rest);
  } else if (name == "System.Decimal") {
    text = format_decimal(static_cast<std::uint32_t>(integer(what, "_flags")),
                          static_cast<std::uint32_t>(integer(what, "_hi32")), integer(what, "_lo64"));
  }
  if (text.empty()) return false; // damaged: the fields of the value say more
  add(text);
  return true;
}

void ObjectText::nullable(const Instance& what) {
  if (target().read_u8(field(what, "hasValue").at) == 0) return add("null");
  const Place held = field(what, "value");
  tell_value(*held.field->type, held.at);
}

bool ObjectText::known_object(const TypeLayout& layout, Address object) {
  const Instance what{layout, object + target().pointer_size()};
  const std::string name = core_type_name(*layout.name);
  if (name == "System.Collections.Generic.List`1") {
    list(what);
  } else if (name == "System.Collections.Generic.Dictionary`2") {
    dictionary(what, true);
  } else if (name == "System.Collections.Generic.HashSet`1") {
    dictionary(what, false);
  } else if (derives_from(layout, "System.Exception")) {
    exception(layout, object);
  } else if (derives_from(layout, "System.Delegate")) {
    delegate(layout, object);
  } else {
    return false;
  }
  return true;
}

void ObjectText::list(const Instance& what) {
  const auto count = static_cast<std::int32_t>(integer(what, "_size"));
  add(fmt::format("Count = {}", count));
  const Address items = reference(what, "_items");
  if (count <= 0 || items == 0) return;
  const TypeLayout& layout = layouts_->of(reader_->method_table_of(items));
  const std::uint32_t capacity = target().read_u32(target().field_address(items, "Array", "m_NumComponents"));
  if (layout.kind != TypeLayout::Kind::array || static_cast<std::uint32_t>(count) > capacity)
    throw_corrupt(items, "a list with more elements than its array");
  add(" ");
  ++depth_;
  array_items(layout, items + target().size_of("Array"), {static_cast<std::uint64_t>(count)});
  --depth_;
}

// Shows the entries of a Dictionary or HashSet, without those that were removed.
void ObjectText::dictionary(const Instance& what, bool pairs) {
  const auto used = static_cast<std::int32_t>(integer(what, "_count"));
  const auto freed = static_cast<std::int32_t>(integer(what, "_freeCount"));
  add(fmt::format("Count = {}", std::int64_t{used} - freed));
  const Address entries = reference(what, "_entries");
  if (used <= freed || entries == 0) return;
  const TypeLayout& array = layouts_->of(reader_->method_table_of(entries));
  const std::uint32_t capacity =
      target().read_u32(target().field_address(entries, "Array", "m_NumComponents"));
  if (array.kind != TypeLayout::Kind::array || array.element->kind != TypeUse::Kind::value ||
      static_cast<std::uint32_t>(used) > capacity)
    throw_corrupt(entries, "a dictionary with more entries than its array");
  const TypeLayout& entry = layouts_->of(array.element->method_table);
  const Address data = entries + target().size_of("Array");
  // Limit of the entries that are examined: any number of removed ones may come before the first that is
  // shown.
  constexpr std::int32_t max_looked_at = 100'000;
  constexpr std::int32_t last_in_chain = -1; // smaller values mark a free entry
  ++depth_;
  add(" {");
  std::size_t shown = 0;
  for (std::int32_t i = 0; i < used; ++i) {
    const Instance at{entry, data + static_cast<Address>(i) * array.element_size};
    if (static_cast<std::int32_t>(integer(at, pairs ? "next" : "Next")) < last_in_chain) continue;
    if (shown != 0) add(", ");
    if (shown >= limits_.elements || full() || i >= max_looked_at) {
      add("...");
      break;
    }
    ++shown;
    const auto part = [&](std::string_view name) {
      const Place place = field(at, name);
      value(*place.field->type, place.at);
    };
    if (pairs) {
      add("[");
      part("key");
      add("] = ");
    }
    part(pairs ? "value" : "Value");
  }
  add("}");
  --depth_;
}

void ObjectText::exception(const TypeLayout& layout, Address object) {
  const Instance what{layout, object + target().pointer_size()};
  const Address message = reference(what, "_message");
  add(fmt::format("{{{}", layout.text));
  if (message != 0) {
    add(": ");
    string(message);
  }
  add("}");
}

void ObjectText::delegate(const TypeLayout& layout, Address object) {
  const Instance what{layout, object + target().pointer_size()};
  // A delegate for a static method calls it through a thunk.
  const Address behind_thunk = reference(what, "_methodPtrAux");
  const std::string method = code_name(behind_thunk != 0 ? behind_thunk : reference(what, "_methodPtr"));
  add(method.empty() ? fmt::format("{{{}}}", layout.text) : fmt::format("{{{} -> {}}}", layout.text, method));
}

std::string ObjectText::code_name(Address code) {
  MethodNames& names = layouts_->finder().names();
  const CodeLookup found = names.code().find(code);
  Address method_desc = 0;
  if (const auto* block = std::get_if<CodeBlock>(&found))
    method_desc = block->method_desc;
  else
    method_desc = std::get<execution::Miss>(found).method_desc.value_or(0);
  if (method_desc == 0) return {};
  Method method = names.describe(method_desc);
  names.add_user_method(method);
  return method.shown_name();
}

} // namespace clr
