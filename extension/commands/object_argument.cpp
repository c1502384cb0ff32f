#include "extension/commands/object_argument.h"

#include "core/memory/error.h"
#include "extension/commands/address_argument.h"
#include "extension/lldb/managed_value.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
lldb::SBValue find_variable(lldb::SBTarget& target, const std::string& text) {
  lldb::SBFrame frame = target.GetProcess().GetSelectedThread().GetSelectedFrame();
  return frame.IsValid() ? frame.FindVariable(text.c_str()) : lldb::SBValue();
}
} // namespace

std::string declared_type(lldb::SBTarget& target, const std::string& text) {
  lldb::SBValue variable = find_variable(target, text);
  lldb::SBType type = variable.GetType();
  if (!variable.IsValid() || !type.IsValid()) return {};
  if (type.IsReferenceType()) type = type.GetDereferencedType();
  const char* const name = type.GetName();
  return name != nullptr ? name : std::string();
}

Address evaluate_object(lldb::SBTarget& target, const std::string& text) {
  lldb::SBValue variable = find_variable(target, text);
  if (!variable.IsValid() || variable.GetError().Fail()) return evaluate_address(target, text);
  lldb::SBValue raw = variable.GetNonSyntheticValue();
  const auto object = object_of(raw);
  if (!object)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is no object but a value of type {}: `frame variable {}` shows it", text,
                            raw.GetTypeName() ? raw.GetTypeName() : "?", text));
  if (*object == 0) throw Error(ErrorKind::invalid_argument, fmt::format("{} is null", text));
  return *object;
}

} // namespace clr::lldb_plugin
