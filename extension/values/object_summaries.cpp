#include "extension/values/object_summaries.h"

#include "core/objects/known_values.h"
#include "core/objects/object_reader.h"
#include "extension/lldb/api_lock.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/managed_value.h"
#include "extension/process/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {
namespace {

// One line of LLDB's.
constexpr TextLimits limits{.string_units = 1'024, .elements = 8, .depth = 2, .text = 2'048};

// A value without one of its members, as LLDB cannot read it: it has no text.
struct NoMember {};

std::uint64_t member(lldb::SBValue& value, const char* name) {
  lldb::SBValue child = value.GetChildMemberWithName(name);
  lldb::SBError error;
  const std::uint64_t number = child.GetValueAsUnsigned(error, 0);
  if (!child.IsValid() || error.Fail()) throw NoMember();
  return number;
}

// Values, unlike objects, may lie in registers or in LLDB's own memory: they are read through their members.
template<std::string (*text)(lldb::SBValue&)>
std::string value_summary(lldb::SBValue& value) {
  lldb::SBValue raw = value.GetNonSyntheticValue();
  if (is_indirect(raw.GetType())) return {};
  try {
    return text(raw);
  } catch (const NoMember&) {
    return {};
  }
}

std::string date_time_text(lldb::SBValue& value) {
  return format_date_data(member(value, "_dateData"));
}

std::string date_text(lldb::SBValue& value) {
  return format_date(static_cast<std::uint32_t>(member(value, "_dayNumber")));
}

std::string time_text(lldb::SBValue& value) {
  return format_time_of_day(member(value, "_ticks"));
}

std::string time_span_text(lldb::SBValue& value) {
  return format_time_span(static_cast<std::int64_t>(member(value, "_ticks")));
}

std::string guid_text(lldb::SBValue& value) {
  std::array<std::uint8_t, 8> rest{};
  for (std::size_t i = 0; i < rest.size(); ++i)
    rest[i] =
        static_cast<std::uint8_t>(member(value, fmt::format("_{}", static_cast<char>('d' + i)).c_str()));
  return format_guid(static_cast<std::uint32_t>(member(value, "_a")),
                     static_cast<std::uint16_t>(member(value, "_b")),
                     static_cast<std::uint16_t>(member(value, "_c")), rest);
}

std::string decimal_text(lldb::SBValue& value) {
  return format_decimal(static_cast<std::uint32_t>(member(value, "_flags")),
                        static_cast<std::uint32_t>(member(value, "_hi32")), member(value, "_lo64"));
}

// "{X = 1, Y = -2}" of a structure that has no summary of its own.
std::string text_of(lldb::SBValue& value) {
  if (const char* summary = value.GetSummary(); summary != nullptr && *summary != '\0') return summary;
  if (const char* text = value.GetValue(); text != nullptr && *text != '\0') return text;
  constexpr std::uint32_t max_members = 8;
  std::string text = "{";
  const std::uint32_t count = value.GetNumChildren();
  for (std::uint32_t i = 0; i < std::min(count, max_members); ++i) {
    lldb::SBValue child = value.GetChildAtIndex(i);
    const char* shown = child.GetSummary();
    if (shown == nullptr) shown = child.GetValue();
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", child.GetName() ? child.GetName() : "?",
                        shown ? shown : "{...}");
  }
  return text + (count > max_members ? ", ...}" : "}");
}

// "{1, 2, 3}" of the bytes of a fixed buffer.
std::string bytes_text(lldb::SBValue& raw) {
  const char* const name = raw.GetTypeName();
  const bool has_sign = name != nullptr && std::string_view(name).starts_with("System.SByte");
  const std::uint32_t count = raw.GetNumChildren(), shown = std::min<std::uint32_t>(count, limits.elements);
  std::string text = "{";
  for (std::uint32_t i = 0; i < shown; ++i) {
    lldb::SBValue child = raw.GetChildAtIndex(i);
    lldb::SBError error;
    const std::int64_t byte = has_sign ? child.GetValueAsSigned(error, 0)
                                       : static_cast<std::int64_t>(child.GetValueAsUnsigned(error, 0));
    if (error.Fail()) throw NoMember();
    text += fmt::format("{}{}", i == 0 ? "" : ", ", byte);
  }
  return text + (count > shown ? ", ...}" : "}");
}

bool is_nullable(lldb::SBValue& value) {
  const char* name = value.GetTypeName();
  return name != nullptr && std::string_view(name).starts_with("System.Nullable<");
}

std::string nullable_text(lldb::SBValue& value) {
  if (member(value, "hasValue") == 0) return "null";
  lldb::SBValue held = value.GetChildMemberWithName("value");
  return held.IsValid() ? text_of(held) : std::string();
}

// "(5, "five")" of a tuple, "["key", 1]" of a pair: their members know how they are shown.
std::string members_text(lldb::SBValue& raw, char open, char close) {
  constexpr std::uint32_t max_members = 8;
  std::string text(1, open);
  const std::uint32_t count = raw.GetNumChildren();
  for (std::uint32_t i = 0; i < std::min(count, max_members); ++i) {
    lldb::SBValue child = raw.GetChildAtIndex(i);
    text += (i == 0 ? "" : ", ") + text_of(child);
  }
  if (count > max_members) text += ", ...";
  return text + close;
}

std::string structure_text(const Turn& turn, lldb::SBValue& raw) {
  if (is_indirect(raw.GetType())) return {};
  const char* const name = raw.GetTypeName();
  switch (name == nullptr ? ManagedValue::other : kind_of_value(name)) {
  case ManagedValue::tuple:
    return members_text(raw, '(', ')');
  case ManagedValue::pair:
    return members_text(raw, '[', ']');
  case ManagedValue::described:
  case ManagedValue::other: // unions of F#'s are structures of any name
    try {
      return Workspace::of(turn).process(raw.GetTarget())->values().text(raw, limits);
    } catch (const Error&) {
      return {};
    }
  }
  return {};
}

// Null: there is none.
std::shared_ptr<Session> session_of(const lldb::SBTarget& target, const Turn& turn) {
  Workspace& workspace = Workspace::of(turn);
  if (std::shared_ptr<Session> session = workspace.printed(target)) return session;
  std::shared_ptr<DebuggedProcess> process = workspace.find(target);
  if (!process) {
    lldb::SBProcess running = lldb::SBTarget(target).GetProcess();
    if (why_unreadable(life_of(running)).empty()) process = workspace.process(target);
  }
  if (!process) return nullptr;
  std::shared_ptr<Session> session = process->sessions().for_values();
  // Who drives LLDB by its API runs no command before it looks at values.
  if (Workspace::serves_client() && session->runtime().objects() != nullptr) {
    lldb::SBDebugger debugger = lldb::SBTarget(target).GetDebugger();
    workspace.offer_parts(debugger, *process);
  }
  workspace.prints(session);
  return session;
}

std::string object_text(const lldb::SBTarget& target, Address object, const Turn& turn) {
  try {
    const std::shared_ptr<Session> session = session_of(target, turn);
    ObjectReader* const objects = session ? session->runtime().objects() : nullptr;
    if (objects == nullptr) return {};
    if (object == 0) return "null";
    return session->text_of(object, [&] {
      objects->layouts().of(objects->method_table_of(object));
      return objects->describe_object(object, limits);
    });
  } catch (const Error&) {
    return {}; // no managed object, or one whose memory is missing: LLDB says so itself
  }
}

std::string object_summary(const Turn& turn, lldb::SBValue& value) {
  // The raw value: the one that formatters made of it is not what lies in memory.
  lldb::SBValue raw = value.GetNonSyntheticValue();
  Workspace& workspace = Workspace::of(turn);
  ReferenceTypes& references = workspace.reference_types();
  if (const auto object = references.object_of(raw, workspace.recent_references()))
    return object_text(raw.GetTarget(), *object, turn);
  if (is_base_part(raw)) return {}; // the object itself says what it is
  if (const auto object = object_of(raw)) {
    references.met(raw);
    return object_text(raw.GetTarget(), *object, turn);
  }
  // Patterns cannot tell a nullable from other generic types.
  if (!is_nullable(raw)) return structure_text(turn, raw);
  try {
    return nullable_text(raw);
  } catch (const NoMember&) {
    return {};
  }
}

struct Summary {
  const char* types;
  bool regex;
  std::uint32_t options;
  SummaryEntry entry;
  const char* description;
};

// Where the text says it all, the fields only take room; `frame variable s._stringLength` shows them all the
// same.
constexpr std::uint32_t with_fields = lldb::eTypeOptionNone, text_only = lldb::eTypeOptionHideChildren;

// Exact names go first, then the last pattern that was added.
const Summary summaries[] = {
    {managed_types[0], true, with_fields, summary_entry<object_summary>(), "managed objects"},
    {R"(^System\.(Nullable|Collections\.Generic\.(List|Dictionary|HashSet|KeyValuePair))<[^:()*&]*>$)", true,
     text_only, summary_entry<object_summary>(), "managed collections"},
    {R"(^System\.(Half|U?Int128|DateTimeOffset|Index|Range|Numerics\.BigInteger|Threading\.CancellationToken)$)",
     true, text_only, summary_entry<object_summary>(), "managed numbers and times"},
    {R"(^System\.((ReadOnly)?(Memory|Span)|ArraySegment|Collections\.Immutable\.ImmutableArray)<[^:()*&]*>$)",
     true, text_only, summary_entry<object_summary>(), "managed parts of arrays"},
    {R"(^Microsoft\.FSharp\.Core\.FSharp(ValueOption|Result)<[^:()*&]*>$)", true, text_only,
     summary_entry<object_summary>(), "managed unions"},
    {managed_types[1], true, text_only, summary_entry<object_summary>(), "managed arrays"},
    {"System.Object", false, text_only, summary_entry<object_summary>(), "System.Object"},
    {"System.String", false, text_only, summary_entry<object_summary>(), "System.String"},
    {"System.DateTime", false, text_only, plain_summary_entry<value_summary<date_time_text>>(),
     "System.DateTime"},
    {"System.DateOnly", false, text_only, plain_summary_entry<value_summary<date_text>>(), "System.DateOnly"},
    {"System.TimeOnly", false, text_only, plain_summary_entry<value_summary<time_text>>(), "System.TimeOnly"},
    {"System.TimeSpan", false, text_only, plain_summary_entry<value_summary<time_span_text>>(),
     "System.TimeSpan"},
    {"System.Guid", false, text_only, plain_summary_entry<value_summary<guid_text>>(), "System.Guid"},
    {"System.Decimal", false, text_only, plain_summary_entry<value_summary<decimal_text>>(),
     "System.Decimal"},
    {"decimal", false, text_only, plain_summary_entry<value_summary<decimal_text>>(), "System.Decimal"},
    {R"(^System\.S?Byte ?\[[0-9]+\]$)", true, text_only, plain_summary_entry<value_summary<bytes_text>>(),
     "bytes of a structure"},
    {ApiLock::type, false, text_only, ApiLock::entry(), "LLDB's lock"},
};

bool register_plain_summaries(lldb::SBDebugger& debugger) {
  lldb::SBTypeCategory category = debugger.CreateCategory(plain_category);
  lldb::SBTypeSummary made =
      summary_entry<object_summary>().make(with_fields, "managed objects without a namespace");
  if (!category.IsValid() || !made.IsValid()) return false;
  for (const char* const type : plain_types)
    if (!category.AddTypeSummary(lldb::SBTypeNameSpecifier(type, true), made)) return false;
  return true;
}

} // namespace

bool register_summaries(lldb::SBDebugger& debugger) {
  if (!register_plain_summaries(debugger)) return false;
  lldb::SBTypeCategory category = debugger.CreateCategory(value_category);
  if (!category.IsValid()) return false;
  for (const Summary& summary : summaries) {
    lldb::SBTypeSummary made = summary.entry.make(summary.options, summary.description);
    if (!made.IsValid() ||
        !category.AddTypeSummary(lldb::SBTypeNameSpecifier(summary.types, summary.regex), made))
      return false;
  }
  // LLDB prints a byte as a character.
  for (const auto& [name, format] :
       {std::pair{"byte", lldb::eFormatUnsigned}, std::pair{"sbyte", lldb::eFormatDecimal},
        std::pair{"System.Byte", lldb::eFormatUnsigned}, std::pair{"System.SByte", lldb::eFormatDecimal}})
    category.AddTypeFormat(lldb::SBTypeNameSpecifier(name), lldb::SBTypeFormat(format));
  category.SetEnabled(true);
  return true;
}

} // namespace clr::lldb_plugin
