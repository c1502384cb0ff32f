#include "extension/lldb/csharp_frame.h"

#include "extension/lldb/csharp_expression.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
// CsharpScope::type_of. Nothing is read: an expression has a type also where it goes through a null
// reference.
std::string type_at(lldb::SBFrame& frame, std::string_view expression) {
  lldb::SBExpressionOptions options;
  options.SetAllowJIT(false);
  options.SetIgnoreBreakpoints(true);
  options.SetSuppressPersistentResult(true);
  options.SetAutoApplyFixIts(false);
  options.SetFetchDynamicValue(lldb::eNoDynamicValues);
  const std::string pointer = fmt::format("(__typeof__({}) *)0", expression);
  lldb::SBValue value = frame.EvaluateExpression(pointer.c_str(), options);
  if (!value.IsValid() || value.GetError().Fail()) return {};
  const char* const name = value.GetType().GetPointeeType().GetName();
  return name == nullptr ? "" : name;
}
} // namespace

std::optional<std::string> csharp_at(lldb::SBFrame& frame, std::string_view text,
                                     const DescribeTypes& describe) {
  if (!only_reads(text) || !type_at(frame, text).empty()) return std::nullopt;
  const char* const function = frame.GetFunctionName();
  const CsharpScope scope{.type_of =
                              [&](const std::string& expression) {
                                if (expression.find("::") != std::string::npos) describe(expression);
                                return type_at(frame, expression);
                              },
                          .names = scope_of_function(function == nullptr ? "" : function)};
  std::optional<std::string> meant = csharp_expression(text, scope);
  if (meant && type_at(frame, *meant).empty()) meant.reset();
  return meant;
}

} // namespace clr::lldb_plugin
