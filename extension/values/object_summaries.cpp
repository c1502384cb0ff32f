#include "extension/values/object_summaries.h"

#include "core/objects/known_values.h"
#include "core/objects/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {
namespace {

constexpr const char* category_name = "clr";

// One line of LLDB's.
constexpr TextLimits limits{.string_units = 1'024, .elements = 8, .depth = 2, .text = 2'048};

// LLDB keeps formatters beyond the debugger that registered them, and hands them nothing but a value: this is
// the one table by which they find that debugger's sessions.
class Stores {
public:
  void add(lldb::user_id_t debugger, const std::shared_ptr<SessionStore>& store) {
    const std::lock_guard lock(mutex_);
    std::erase_if(stores_, [](const auto& entry) { return entry.second.expired(); });
    stores_[debugger] = store;
  }
  std::shared_ptr<SessionStore> find(lldb::user_id_t debugger) {
    const std::lock_guard lock(mutex_);
    const auto found = stores_.find(debugger);
    return found == stores_.end() ? nullptr : found->second.lock();
  }

private:
  std::mutex mutex_;
  std::map<lldb::user_id_t, std::weak_ptr<SessionStore>> stores_;
};

Stores& summary_stores() {
  // Never destroyed: LLDB may print values until the very end.
  static Stores& stores = *new Stores;
  return stores;
}

bool is_indirect(lldb::SBType type) {
  return type.IsPointerType() || type.IsReferenceType();
}

// The object that a value is or points to; nothing when the value does not say.
std::optional<Address> object_of(lldb::SBValue& value) {
  lldb::SBType type = value.GetType();
  const bool indirect = is_indirect(type);
  if (indirect) type = type.IsPointerType() ? type.GetPointeeType() : type.GetDereferencedType();
  constexpr std::uint32_t records = lldb::eTypeClassStruct | lldb::eTypeClassClass;
  if ((type.GetTypeClass() & records) == 0) return std::nullopt;
  // Every class is derived from Object, no value type is.
  const char* name = type.GetName();
  if (type.GetNumberOfDirectBaseClasses() == 0 &&
      (name == nullptr || std::string_view(name) != "System.Object"))
    return std::nullopt;
  if (indirect) {
    lldb::SBError error;
    const std::uint64_t pointer = value.GetValueAsUnsigned(error, 0);
    if (error.Fail()) return std::nullopt;
    return pointer;
  }
  const lldb::addr_t at = value.GetLoadAddress();
  if (at == LLDB_INVALID_ADDRESS) return std::nullopt;
  return at;
}

bool print(lldb::SBStream& stream, const std::string& text) {
  if (text.empty()) return false;
  stream.Print(text.c_str());
  return true;
}

// Runs `act`: a formatter that throws would end LLDB.
template<typename Act>
bool guarded_summary(const Act& act) noexcept {
  try {
    return act();
  } catch (...) {
    return false;
  }
}

std::uint64_t member(lldb::SBValue& value, const char* name) {
  lldb::SBValue child = value.GetChildMemberWithName(name);
  lldb::SBError error;
  const std::uint64_t number = child.GetValueAsUnsigned(error, 0);
  if (!child.IsValid() || error.Fail()) throw std::runtime_error("a value without its members");
  return number;
}

// Values, unlike objects, may lie in registers or in LLDB's own memory: they are read through their members.
template<typename Text>
bool value_summary(lldb::SBValue& value, lldb::SBStream& stream, const Text& text) {
  return guarded_summary([&] {
    lldb::SBValue raw = value.GetNonSyntheticValue();
    if (is_indirect(raw.GetType())) return false;
    return print(stream, text(raw));
  });
}

bool date_time_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return value_summary(value, stream,
                       [](lldb::SBValue& v) { return format_date_data(member(v, "_dateData")); });
}

bool date_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return value_summary(value, stream, [](lldb::SBValue& v) {
    return format_date(static_cast<std::uint32_t>(member(v, "_dayNumber")));
  });
}

bool time_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return value_summary(value, stream,
                       [](lldb::SBValue& v) { return format_time_of_day(member(v, "_ticks")); });
}

bool time_span_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return value_summary(value, stream, [](lldb::SBValue& v) {
    return format_time_span(static_cast<std::int64_t>(member(v, "_ticks")));
  });
}

bool guid_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return value_summary(value, stream, [](lldb::SBValue& v) {
    std::array<std::uint8_t, 8> rest{};
    for (std::size_t i = 0; i < rest.size(); ++i)
      rest[i] = static_cast<std::uint8_t>(member(v, fmt::format("_{}", static_cast<char>('d' + i)).c_str()));
    return format_guid(static_cast<std::uint32_t>(member(v, "_a")),
                       static_cast<std::uint16_t>(member(v, "_b")),
                       static_cast<std::uint16_t>(member(v, "_c")), rest);
  });
}

bool decimal_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return value_summary(value, stream, [](lldb::SBValue& v) {
    return format_decimal(static_cast<std::uint32_t>(member(v, "_flags")),
                          static_cast<std::uint32_t>(member(v, "_hi32")), member(v, "_lo64"));
  });
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

bool is_nullable(lldb::SBValue& value) {
  const char* name = value.GetTypeName();
  return name != nullptr && std::string_view(name).starts_with("System.Nullable<");
}

std::string nullable_text(lldb::SBValue& value) {
  if (member(value, "hasValue") == 0) return "null";
  lldb::SBValue held = value.GetChildMemberWithName("value");
  return held.IsValid() ? text_of(held) : std::string();
}

bool object_summary(lldb::SBValue value, lldb::SBTypeSummaryOptions, lldb::SBStream& stream) {
  return guarded_summary([&] {
    // What formatters made of the value is not what lies in memory.
    lldb::SBValue raw = value.GetNonSyntheticValue();
    // A base class within an object, which LLDB calls by its type: the object itself says what it is.
    const char* name = raw.GetName();
    const char* type = raw.GetTypeName();
    if (name != nullptr && type != nullptr && std::string_view(name) == type) return false;
    const auto object = object_of(raw);
    // Patterns cannot tell a nullable from other generic types.
    if (!object) return is_nullable(raw) && print(stream, nullable_text(raw));
    lldb::SBTarget target = raw.GetTarget();
    lldb::SBDebugger debugger = target.GetDebugger();
    const auto store = summary_stores().find(static_cast<lldb::user_id_t>(debugger.GetID()));
    if (!store) return false;
    const std::shared_ptr<Session> session = store->after_short_run(debugger, target);
    ObjectReader* objects = session->runtime().objects();
    if (objects == nullptr) return false;
    if (*object == 0) return print(stream, "null");
    try {
      objects->layouts().of(objects->method_table_of(*object));
    } catch (const std::exception&) {
      return false; // no managed object, or one whose memory is missing: LLDB says so itself
    }
    return print(stream, objects->describe_object(*object, limits));
  });
}

struct Summary {
  const char* types;
  bool regex;
  std::uint32_t options;
  bool (*callback)(lldb::SBValue, lldb::SBTypeSummaryOptions, lldb::SBStream&);
  const char* description;
};

// Where the text says it all, the fields only take room; `frame variable s._stringLength` shows them all the
// same.
constexpr std::uint32_t with_fields = lldb::eTypeOptionNone, text_only = lldb::eTypeOptionHideChildren;

// Exact names go first, then the last pattern that was added. No name of C++ has a dot.
constexpr Summary summaries[] = {
    {R"(^[A-Za-z_$@][A-Za-z0-9_$@]*\.[^:()*&]*$)", true, with_fields, object_summary, "managed objects"},
    {R"(^System\.(Nullable|Collections\.Generic\.(List|Dictionary|HashSet))<[^:()*&]*>$)", true, text_only,
     object_summary, "managed collections"},
    {R"(^[^:()*&]+\[,*\]$)", true, text_only, object_summary, "managed arrays"},
    {"System.Object", false, text_only, object_summary, "System.Object"},
    {"System.String", false, text_only, object_summary, "System.String"},
    {"System.DateTime", false, text_only, date_time_summary, "System.DateTime"},
    {"System.DateOnly", false, text_only, date_summary, "System.DateOnly"},
    {"System.TimeOnly", false, text_only, time_summary, "System.TimeOnly"},
    {"System.TimeSpan", false, text_only, time_span_summary, "System.TimeSpan"},
    {"System.Guid", false, text_only, guid_summary, "System.Guid"},
    {"System.Decimal", false, text_only, decimal_summary, "System.Decimal"},
    {"decimal", false, text_only, decimal_summary, "System.Decimal"},
};

} // namespace

bool register_summaries(lldb::SBDebugger& debugger, const std::shared_ptr<SessionStore>& sessions) {
  summary_stores().add(static_cast<lldb::user_id_t>(debugger.GetID()), sessions);
  lldb::SBTypeCategory category = debugger.CreateCategory(category_name);
  if (!category.IsValid()) return false;
  for (const Summary& summary : summaries) {
    lldb::SBTypeSummary made =
        lldb::SBTypeSummary::CreateWithCallback(summary.callback, summary.options, summary.description);
    if (!made.IsValid() ||
        !category.AddTypeSummary(lldb::SBTypeNameSpecifier(summary.types, summary.regex), made))
      return false;
  }
  // LLDB prints a byte as a character.
  for (const auto& [name, format] :
       {std::pair{"byte", lldb::eFormatUnsigned}, std::pair{"sbyte", lldb::eFormatDecimal}})
    category.AddTypeFormat(lldb::SBTypeNameSpecifier(name), lldb::SBTypeFormat(format));
  category.SetEnabled(true);
  return true;
}

} // namespace clr::lldb_plugin
