#include "extension/process/printed_objects.h"

#include "core/memory/platform.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/csharp_expression.h"
#include "extension/lldb/managed_value.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/own_command.h"
#include "extension/lldb/published_module.h"
#include "extension/process/expression_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {

// The expression of a command that asks for an object's description, and for nothing else.
std::optional<std::string> described(const std::string& command) {
  std::optional<ExpressionCommand> parts = expression_command(command);
  if (!parts || parts->text.empty() || parts->options.empty()) return std::nullopt;
  const bool plain = std::ranges::all_of(parts->options, [](const std::string& option) {
    return option == "-O" || option == "--object-description";
  });
  return plain ? std::optional(std::move(parts->text)) : std::nullopt;
}

std::optional<Address> address_in(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  Address address = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data() + 2, end, address, 16);
  return error == std::errc() && last == end ? std::optional(address) : std::nullopt;
}

lldb::SBValue evaluate(lldb::SBFrame& frame, const std::string& text) {
  if (is_variable_path(text)) {
    lldb::SBValue found = frame.GetValueForVariablePath(text.c_str(), lldb::eNoDynamicValues);
    if (found.IsValid() && found.GetError().Success()) return found;
  }
  lldb::SBExpressionOptions options;
  options.SetAllowJIT(false); // nothing of the target runs
  options.SetSuppressPersistentResult(true);
  return frame.EvaluateExpression(text.c_str(), options);
}

bool print_value(lldb::SBDebugger& debugger, lldb::SBValue& value) {
  const char* text = value.GetSummary();
  if (text == nullptr) text = value.GetValue();
  if (text == nullptr) return false;
  write_text(debugger.GetOutputFile(), fmt::format("{}\n", text));
  return true;
}

} // namespace

bool print_object_of_core(lldb::SBDebugger& debugger, const std::string& command) {
  const std::optional<ExpressionCommand> parts = expression_command(command);
  lldb::SBTarget target = debugger.GetSelectedTarget();
  lldb::SBProcess process = target.GetProcess();
  if (!parts || !parts->options.empty() || parts->text.empty() || !is_core(process)) return false;
  lldb::SBFrame frame = selected_published_frame(target);
  if (!frame.IsValid()) return false;
  lldb::SBValue pointer = evaluate(frame, fmt::format("&({})", parts->text));
  if (!pointer.IsValid() || pointer.GetError().Fail() || !pointer.GetType().IsPointerType()) return false;
  lldb::SBValue raw = pointer.GetNonSyntheticValue();
  const std::optional<Address> object = object_of(raw);
  if (!object || *object == 0) return false;
  lldb::SBValue found = target.CreateValueFromAddress(parts->text.c_str(), lldb::SBAddress(*object, target),
                                                      pointer.GetType().GetPointeeType());
  lldb::SBStream text;
  if (!found.IsValid() || !found.GetDescription(text)) return false;
  write_text(debugger.GetOutputFile(), std::string_view(text.GetData(), text.GetSize()));
  return true;
}

bool print_object(lldb::SBDebugger& debugger, const std::string& command) {
  const std::optional<std::string> text = described(command);
  if (!text) return false;
  std::optional<Address> object = address_in(*text);
  if (!object) {
    if (!only_reads(*text)) return false; // it is evaluated here up to twice, and then once more by LLDB
    lldb::SBTarget target = debugger.GetSelectedTarget();
    lldb::SBFrame frame = selected_published_frame(target);
    if (!frame.IsValid()) return false;
    // The value of a cast to an object is a copy of it, which is no object; its address is that of the
    // object.
    std::array<std::string, 2> forms{fmt::format("&({})", *text), *text};
    if (is_variable_path(*text)) std::swap(forms[0], forms[1]);
    for (const std::string& form : forms) {
      lldb::SBValue value = evaluate(frame, form);
      if (!value.IsValid() || value.GetError().Fail()) continue;
      lldb::SBValue raw = value.GetNonSyntheticValue();
      object = object_of(raw);
      if (object) break;
      // LLDB's expressions have no elements of managed arrays and collections.
      if (is_variable_path(form) && form.find('[') != std::string::npos) return print_value(debugger, value);
    }
  }
  if (!object || *object == 0) return false;
  const OwnAnswer answer = run_own(debugger, fmt::format("clr object {:#x}", *object));
  // What is no object after all is LLDB's to show.
  if (!answer.succeeded || answer.output.empty()) return false;
  write_text(debugger.GetOutputFile(), answer.output);
  return true;
}

} // namespace clr::lldb_plugin
