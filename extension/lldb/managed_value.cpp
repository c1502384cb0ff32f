#include "extension/lldb/managed_value.h"

#include <cstdint>
#include <string_view>

namespace clr::lldb_plugin {

bool is_indirect(lldb::SBType type) {
  return type.IsPointerType() || type.IsReferenceType();
}

bool is_base_part(lldb::SBValue& value) {
  const char* const name = value.GetName();
  const char* const type = value.GetTypeName();
  return name != nullptr && type != nullptr && std::string_view(name) == type;
}

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

} // namespace clr::lldb_plugin
