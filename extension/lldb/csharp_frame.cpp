#include "extension/lldb/csharp_frame.h"

#include "extension/lldb/csharp_expression.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
// Invalid when it has no meaning.
lldb::SBValue value_at(lldb::SBFrame& frame, const std::string& expression) {
  lldb::SBExpressionOptions options;
  options.SetAllowJIT(false);
  options.SetIgnoreBreakpoints(true);
  options.SetSuppressPersistentResult(true);
  options.SetAutoApplyFixIts(false);
  options.SetFetchDynamicValue(lldb::eNoDynamicValues);
  lldb::SBValue value = frame.EvaluateExpression(expression.c_str(), options);
  return value.IsValid() && value.GetError().Success() ? value : lldb::SBValue();
}

std::string name_of(lldb::SBType type) {
  const char* const name = type.GetName();
  return name == nullptr ? "" : name;
}

// By its address: the value of a null reference cannot be read.
std::string type_at(lldb::SBFrame& frame, const std::string& expression) {
  if (lldb::SBValue pointer = value_at(frame, fmt::format("&({})", expression)); pointer.IsValid())
    return name_of(pointer.GetType().GetPointeeType());
  return name_of(value_at(frame, expression).GetType());
}
} // namespace

std::optional<std::string> csharp_at(lldb::SBFrame& frame, std::string_view text,
                                     const DescribeTypes& describe) {
  if (!only_reads(text) || value_at(frame, std::string(text)).IsValid()) return std::nullopt;
  const char* const function = frame.GetFunctionName();
  const CsharpScope scope{.type_of =
                              [&](const std::string& expression) {
                                if (expression.find("::") != std::string::npos) describe(expression);
                                return type_at(frame, expression);
                              },
                          .names = scope_of_function(function == nullptr ? "" : function)};
  std::optional<std::string> meant = csharp_expression(text, scope);
  if (meant && !value_at(frame, *meant).IsValid()) meant.reset();
  return meant;
}

} // namespace clr::lldb_plugin
