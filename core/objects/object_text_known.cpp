// The part of ObjectText that knows the framework's own types: their values, collections, exceptions,
// delegates.
#include "core/objects/collections.h"
#include "core/objects/known_values.h"
#include "core/objects/object_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

// Parts of one collection that are looked at for its text.
constexpr std::uint64_t max_text_steps = 200'000;

} // namespace

bool ObjectText::known_value(const Instance& what) {
  if (what.layout.repeats > 1) {
    repeated(what);
    return true;
  }
  const std::string name = framework_type_name(*what.layout.name);
  if (name.empty()) return union_value(what);
  const auto integer = [&](std::string_view field) { return instances_.integer(what, field); };
  std::string text;
  if (name == "System.Nullable`1") {
    nullable(what);
    return true;
  }
  if (name == "System.DateTime") {
    text = format_date_data(integer("_dateData"));
  } else if (name == "System.DateTimeOffset") {
    text = format_date_offset(instances_.integer(instances_.inner(what, "_dateTime"), "_dateData"),
                              static_cast<std::int32_t>(integer("_offsetMinutes")));
  } else if (name == "System.TimeSpan") {
    text = format_time_span(static_cast<std::int64_t>(integer("_ticks")));
  } else if (name == "System.DateOnly") {
    text = format_date(static_cast<std::uint32_t>(integer("_dayNumber")));
  } else if (name == "System.TimeOnly") {
    text = format_time_of_day(integer("_ticks"));
  } else if (name == "System.Guid") {
    std::array<std::uint8_t, 8> rest{};
    for (std::size_t i = 0; i < rest.size(); ++i)
      rest[i] = static_cast<std::uint8_t>(integer(fmt::format("_{}", static_cast<char>('d' + i))));
    text = format_guid(static_cast<std::uint32_t>(integer("_a")), static_cast<std::uint16_t>(integer("_b")),
                       static_cast<std::uint16_t>(integer("_c")), rest);
  } else if (name == "System.Decimal") {
    text = format_decimal(static_cast<std::uint32_t>(integer("_flags")),
                          static_cast<std::uint32_t>(integer("_hi32")), integer("_lo64"));
  } else if (name == "System.Half") {
    text = format_half(static_cast<std::uint16_t>(integer("_value")));
  } else if (name == "System.Int128" || name == "System.UInt128") {
    text = format_int128(integer("_upper"), integer("_lower"), name == "System.Int128");
  } else if (name == "System.Numerics.BigInteger") {
    text = big_integer(what);
  } else if (name == "System.Index") {
    const auto value = static_cast<std::int32_t>(integer("_value"));
    text = value < 0 ? fmt::format("^{}", ~value) : fmt::format("{}", value);
  } else if (name == "System.Range") {
    for (const char* const end : {"Start", "End"}) {
      if (!text.empty()) text += "..";
      const auto value = static_cast<std::int32_t>(instances_.integer(instances_.inner(what, end), "_value"));
      text += value < 0 ? fmt::format("^{}", ~value) : fmt::format("{}", value);
    }
  } else if (name == "System.Threading.CancellationToken") {
    token(what);
    return true;
  } else if (name.starts_with("System.ValueTuple`") || name == "System.Collections.Generic.KeyValuePair`2") {
    tuple(what);
    return true;
  } else if (name == "System.Memory`1" || name == "System.ReadOnlyMemory`1") {
    memory(what);
    return true;
  } else if (name == "System.Span`1" || name == "System.ReadOnlySpan`1") {
    span(what);
    return true;
  } else {
    return collection(what) || (name.starts_with("Microsoft.FSharp.") && union_value(what));
  }
  if (text.empty()) return false; // damaged: the fields of the value say more
  add(text);
  return true;
}

void ObjectText::nullable(const Instance& what) {
  if (target().read_u8(instances_.field(what, "hasValue").at) == 0) return add("null");
  const FieldPlace held = instances_.field(what, "value");
  value(*held.field->type, held.at);
}

void ObjectText::characters(Address at, std::uint64_t units) {
  const std::uint64_t shown = std::min<std::uint64_t>(units, limits_.string_units);
  add(escape(target().read_utf16_units(at, shown), '"'));
  if (shown < units) add(fmt::format("... ({} characters)", units));
}

void ObjectText::items(const TypeUse& element, std::uint32_t stride, Address data, std::uint64_t count) {
  if (element.number == ElementType::char_) return characters(data, count);
  add(fmt::format("{}[{}]", format_type(*element.name), count));
  if (count == 0) return;
  ++depth_;
  add(" {");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i != 0) add(", ");
    if (i >= limits_.elements || full()) {
      add("...");
      break;
    }
    value(element, data + i * stride);
  }
  add("}");
  --depth_;
}

// A part of an array or of a string. Other owners of memory tell only the length.
void ObjectText::memory(const Instance& what) {
  const auto length = static_cast<std::uint32_t>(instances_.integer(what, "_length"));
  const Address owner = instances_.reference(what, "_object");
  const auto first = static_cast<std::uint32_t>(instances_.integer(what, "_index")) & 0x7fff'ffff;
  if (owner == 0) return add("{Length = 0}");
  const TypeLayout& layout = layouts_->of(reader_->method_table_of(owner));
  if (layout.kind == TypeLayout::Kind::string) {
    const std::uint32_t units = target().read_u32(target().field_address(owner, "String", "m_StringLength"));
    if (first > units || length > units - first) throw_corrupt(owner, "a part that is not within its string");
    return characters(target().field_address(owner, "String", "m_FirstChar") + Address{2} * first, length);
  }
  if (layout.kind != TypeLayout::Kind::array) return add(fmt::format("{{Length = {}}}", length));
  const InstanceReader::Vector array = instances_.vector(owner);
  if (first > array.count || length > array.count - first)
    throw_corrupt(owner, "a part that is not within its array");
  items(*layout.element, layout.element_size, array.at(first), length);
}

void ObjectText::span(const Instance& what) {
  const FieldPlace begin = instances_.field(what, "_reference");
  const auto length = static_cast<std::uint32_t>(instances_.integer(what, "_length"));
  const TypeUsePtr& element = begin.field->type->element;
  const std::uint32_t size = element ? layouts_->size_of(*element) : 0;
  if (size == 0) return add(fmt::format("{{Length = {}}}", length));
  items(*element, size, target().read_pointer(begin.at), length);
}

void ObjectText::token(const Instance& what) {
  const Address source = instances_.reference(what, "_source");
  if (source == 0) return add("{cannot be cancelled}");
  constexpr std::uint64_t not_cancelled = 0;
  add(instances_.integer(instances_.of_object(source), "_state") == not_cancelled ? "{not cancelled}"
                                                                                  : "{cancelled}");
}

std::string ObjectText::big_integer(const Instance& what) {
  const auto sign = static_cast<std::int32_t>(instances_.integer(what, "_sign"));
  const Address bits = instances_.reference(what, "_bits");
  if (bits == 0) return fmt::format("{}", sign);
  const InstanceReader::Vector words = instances_.vector(bits);
  constexpr std::uint64_t max_bits = 8'192; // some 2,500 digits; the work grows with the square
  // From .NET 11 on they are words of the machine.
  const bool wide = words.layout.element_size == 8;
  const std::uint64_t count = std::uint64_t{words.count} * (wide ? 64 : 32);
  if (count > max_bits) return fmt::format("{{a number of {} bits}}", count);
  std::vector<std::uint32_t> digits;
  for (std::uint32_t i = 0; i < words.count; ++i) {
    if (!wide) {
      digits.push_back(target().read_u32(words.at(i)));
      continue;
    }
    const std::uint64_t word = target().read_u64(words.at(i));
    digits.push_back(static_cast<std::uint32_t>(word));
    digits.push_back(static_cast<std::uint32_t>(word >> 32));
  }
  return format_big_integer(std::move(digits), sign < 0);
}

bool ObjectText::known_object(const TypeLayout& layout, Address object) {
  const Instance what{layout, object + target().pointer_size()};
  if (collection(what)) return true;
  const std::string name = framework_type_name(*layout.name);
  if (name == "System.Uri") return text_field(what, "_string");
  if (name == "System.Text.StringBuilder") {
    builder(what);
  } else if (name == "System.Version") {
    version(what);
  } else if (name == "System.RuntimeType") {
    const auto type = layouts_->finder().of_handle(instances_.integer(what, "m_handle"));
    add(fmt::format("{{typeof({})}}", format_type(*type->name)));
  } else if (name == "System.Threading.CancellationTokenSource") {
    add(instances_.integer(what, "_state") == 0 ? "{not cancelled}" : "{cancelled}");
  } else if (name.starts_with("System.Tuple`")) {
    tuple(what);
  } else if (name == "Microsoft.FSharp.Core.FSharpOption`1") {
    const auto known = instances_.find(what, "value"); // "item" in older versions
    const FieldPlace held = known ? *known : instances_.field(what, "item");
    add("Some(");
    value(*held.field->type, held.at);
    add(")");
  } else if (instances_.derives_from(layout, "System.Exception")) {
    exception(layout, object);
  } else if (instances_.derives_from(layout, "System.Delegate")) {
    delegate(layout, object);
  } else if (instances_.derives_from(layout, "System.Threading.Tasks.Task")) {
    task(layout, what);
  } else {
    return held(name, what) || union_value(what);
  }
  return true;
}

// "Count = 2 {5, 6}"; "Count = 1 {[\"a\"] = 1}" of a dictionary.
bool ObjectText::collection(const Instance& what) {
  std::uint64_t count = 0;
  std::size_t shown = 0;
  const unsigned depth = depth_;
  const bool known = visit_collection(instances_, what,
                                      {.count =
                                           [&](std::uint64_t all) {
                                             count = all;
                                             add(fmt::format("Count = {}", all));
                                           },
                                       .item =
                                           [&](const CollectionItem& item) {
                                             add(shown == 0 ? " {" : ", ");
                                             depth_ = depth + 1;
                                             if (shown >= limits_.elements || full()) {
                                               add("...");
                                               ++shown;
                                               return false;
                                             }
                                             ++shown;
                                             if (item.key_type) {
                                               add("[");
                                               value(*item.key_type, item.key);
                                               add("] = ");
                                             }
                                             value(*item.type, item.at);
                                             return true;
                                           },
                                       .steps = std::min(max_text_steps, steps_left()),
                                       .looked_at = &looked_at_});
  depth_ = depth;
  if (shown != 0) add("}");
  return known;
}

bool ObjectText::text_field(const Instance& what, std::string_view name) {
  const Address text = instances_.reference(what, name);
  if (text == 0) return false;
  string(text);
  return true;
}

// The chunks of a builder, the last of which is the builder itself.
void ObjectText::builder(const Instance& what) {
  constexpr std::size_t max_chunks = 10'000; // of one StringBuilder
  struct Chunk {
    Address data = 0;
    std::uint64_t units = 0;
  };
  std::vector<Chunk> chunks;
  std::uint64_t units = 0;
  for (Address chunk = what.fields - target().pointer_size(); chunk != 0;) {
    if (chunks.size() == max_chunks || steps_left() == 0) throw_corrupt(chunk, "a text of too many chunks");
    ++looked_at_;
    const Instance at = instances_.of_object(chunk);
    const InstanceReader::Vector data = instances_.vector(instances_.reference(at, "m_ChunkChars"));
    const auto used = static_cast<std::uint32_t>(instances_.integer(at, "m_ChunkLength"));
    if (used > data.count) throw_corrupt(data.data, "a chunk of text that is longer than its array");
    chunks.push_back({data.data, used});
    units += used;
    chunk = instances_.reference(at, "m_ChunkPrevious");
  }
  std::string text;
  std::uint64_t shown = 0;
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend() && shown < limits_.string_units; ++chunk) {
    const std::uint64_t part = std::min<std::uint64_t>(chunk->units, limits_.string_units - shown);
    text += target().read_utf16_units(chunk->data, part);
    shown += part;
  }
  add(escape(text, '"'));
  if (shown < units) add(fmt::format("... ({} characters)", units));
}

void ObjectText::version(const Instance& what) {
  std::string text;
  for (const char* const part : {"_Major", "_Minor", "_Build", "_Revision"}) {
    const auto number = static_cast<std::int32_t>(instances_.integer(what, part));
    if (number < 0) break;
    text += fmt::format("{}{}", text.empty() ? "" : ".", number);
  }
  add(text);
}

// Source of the flags: dotnet/runtime
// src/libraries/System.Private.CoreLib/src/System/Threading/Tasks/Task.cs.
void ObjectText::task(const TypeLayout& layout, const Instance& what) {
  constexpr std::uint64_t delegate_invoked = 0x2'0000, faulted = 0x20'0000, cancelled = 0x40'0000,
                          ran_to_completion = 0x100'0000, waits_for_activation = 0x200'0000;
  const std::uint64_t flags = instances_.integer(what, "m_stateFlags");
  const std::string_view state = (flags & faulted) != 0                ? "Faulted"
                                 : (flags & cancelled) != 0            ? "Canceled"
                                 : (flags & ran_to_completion) != 0    ? "RanToCompletion"
                                 : (flags & delegate_invoked) != 0     ? "Running"
                                 : (flags & waits_for_activation) != 0 ? "WaitingForActivation"
                                                                       : "WaitingToRun";
  add(fmt::format("{{{}: {}", layout.text, state));
  if (const auto result = instances_.find(what, "m_result");
      result && state == "RanToCompletion" && depth_ < limits_.depth &&
      (result->field->type->kind != TypeUse::Kind::value ||
       framework_type_name(*result->field->type->name) != "System.Threading.Tasks.VoidTaskResult")) {
    add(", Result = ");
    ++depth_;
    value(*result->field->type, result->at);
    --depth_;
  } else if (state == "Faulted") {
    if (const Address first = first_exception(what); first != 0) {
      add(", ");
      object(first);
    }
  }
  add("}");
}

// The first of the exceptions with which a task ended; 0: none is kept.
Address ObjectText::first_exception(const Instance& what) {
  const Address properties = instances_.reference(what, "m_contingentProperties");
  if (properties == 0) return 0;
  const Address holder = instances_.reference(instances_.of_object(properties), "m_exceptionsHolder");
  if (holder == 0) return 0;
  const Address faults = instances_.reference(instances_.of_object(holder), "m_faultExceptions");
  if (faults == 0) return 0;
  Address dispatch = 0;
  visit_collection(instances_, instances_.of_object(faults),
                   {.count = [](std::uint64_t) {},
                    .item =
                        [&](const CollectionItem& item) {
                          dispatch = target().read_pointer(item.at);
                          return false;
                        },
                    .steps = std::min(max_text_steps, steps_left()),
                    .looked_at = &looked_at_});
  return dispatch == 0 ? 0 : instances_.reference(instances_.of_object(dispatch), "_exception");
}

void ObjectText::exception(const TypeLayout& layout, Address object) {
  const Instance what{layout, object + target().pointer_size()};
  const Address message = instances_.reference(what, "_message");
  add(fmt::format("{{{}", layout.text));
  if (message != 0) {
    add(": ");
    string(message);
  }
  add("}");
}

} // namespace clr
