#include "extension/lldb/managed_value.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace clr::lldb_plugin {

bool is_indirect(lldb::SBType type) {
  return type.IsPointerType() || type.IsReferenceType();
}

ManagedValue kind_of_value(std::string_view type_name) {
  constexpr std::array described{"System.Half",
                                 "System.Int128",
                                 "System.UInt128",
                                 "System.DateTimeOffset",
                                 "System.Index",
                                 "System.Range",
                                 "System.Numerics.BigInteger",
                                 "System.Threading.CancellationToken",
                                 "System.Memory",
                                 "System.ReadOnlyMemory",
                                 "System.Span",
                                 "System.ReadOnlySpan",
                                 "System.ArraySegment",
                                 "System.Collections.Immutable.ImmutableArray",
                                 "Microsoft.FSharp.Core.FSharpValueOption",
                                 "Microsoft.FSharp.Core.FSharpResult"};
  const std::string_view name = type_name.substr(0, type_name.find('<'));
  if (name == "System.ValueTuple") return ManagedValue::tuple;
  if (name == "System.Collections.Generic.KeyValuePair") return ManagedValue::pair;
  return std::ranges::find(described, name) == described.end() ? ManagedValue::other
                                                               : ManagedValue::described;
}

std::optional<std::uint32_t> tuple_index(std::string_view name) {
  constexpr std::string_view prefix = "Item";
  std::uint32_t number = 0;
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto [last, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  if (error != std::errc() || last != name.data() + name.size() || number == 0) return std::nullopt;
  return number - 1;
}

bool is_base_part(lldb::SBValue& value) {
  const char* const name = value.GetName();
  const char* const type = value.GetTypeName();
  return name != nullptr && type != nullptr && std::string_view(name) == type;
}

namespace {
std::optional<Address> pointer_in(lldb::SBValue& value) {
  // Whether it could be read must be asked of a zero only.
  if (const std::uint64_t pointer = value.GetValueAsUnsigned(0); pointer != 0) return pointer;
  lldb::SBError error;
  const std::uint64_t pointer = value.GetValueAsUnsigned(error, 0);
  return error.Fail() ? std::nullopt : std::optional<Address>(pointer);
}
} // namespace

bool RecentTypes::has(lldb::SBType& type) {
  return std::ranges::any_of(types_,
                             [&](lldb::SBType& recent) { return recent.IsValid() && recent == type; });
}

void RecentTypes::add(const lldb::SBType& type) {
  types_[next_] = type;
  next_ = (next_ + 1) % types_.size();
}

std::optional<Address> ReferenceTypes::object_of(lldb::SBValue& value, RecentTypes& recent) {
  lldb::SBType type = value.GetType();
  if (!recent.has(type)) {
    const auto known = types_.find(value.GetTypeName());
    if (known == types_.end() || !(type == known->second)) return std::nullopt;
    recent.add(type);
  }
  return pointer_in(value);
}

void ReferenceTypes::met(lldb::SBValue& value) {
  const char* const name = value.GetTypeName();
  lldb::SBType type = value.GetType();
  if (name == nullptr || !is_indirect(type)) return;
  if (types_.size() >= max_kept) types_.clear();
  types_.insert_or_assign(name, type);
}

std::optional<Address> object_of(lldb::SBValue& value) {
  lldb::SBType type = value.GetType();
  const bool indirect = is_indirect(type);
  if (indirect) type = type.IsPointerType() ? type.GetPointeeType() : type.GetDereferencedType();
  type = type.GetCanonicalType(); // a cast names the type by a typedef
  constexpr std::uint32_t records = lldb::eTypeClassStruct | lldb::eTypeClassClass;
  if ((type.GetTypeClass() & records) == 0) return std::nullopt;
  // Every class is derived from Object, no value type is.
  const char* name = type.GetName();
  if (type.GetNumberOfDirectBaseClasses() == 0 &&
      (name == nullptr || std::string_view(name) != "System.Object"))
    return std::nullopt;
  if (indirect) return pointer_in(value);
  const lldb::addr_t at = value.GetLoadAddress();
  if (at == LLDB_INVALID_ADDRESS) return std::nullopt;
  return at;
}

} // namespace clr::lldb_plugin
