#include "extension/process/assignments.h"

#include "extension/lldb/notice.h"
#include "extension/lldb/output.h"
#include "extension/lldb/published_module.h"
#include "extension/process/expression_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
struct Assignment {
  std::string path, value;
};

std::optional<Assignment> assignment_of(std::string_view command) {
  const std::optional<ExpressionCommand> parts = expression_command(command);
  if (!parts) return std::nullopt;
  const std::string_view text = parts->text;
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos || text.substr(sign).starts_with("==")) return std::nullopt;
  const std::string_view path = trimmed(text.substr(0, sign));
  std::string_view value = trimmed(text.substr(sign + 1));
  while (value.ends_with(';')) value = trimmed(value.substr(0, value.size() - 1));
  if (!is_variable_path(path)) return std::nullopt;
  return Assignment{std::string(path), std::string(value)};
}

bool is_null(std::string_view value) {
  constexpr std::array<std::string_view, 4> words{"nullptr", "null", "NULL", "0"};
  return std::ranges::find(words, value) != words.end();
}

void show(lldb::SBDebugger& debugger, lldb::SBValue value) {
  lldb::SBStream text;
  if (value.GetDescription(text))
    write_text(debugger.GetOutputFile(), std::string_view(text.GetData(), text.GetSize()));
}
} // namespace

bool assign_reference(lldb::SBDebugger& debugger, const std::string& command) {
  const std::optional<Assignment> wanted = assignment_of(command);
  if (!wanted) return false;
  lldb::SBFrame frame = selected_published_frame(debugger.GetSelectedTarget());
  if (!frame.IsValid()) return false;
  const auto find = [&] {
    return frame.GetValueForVariablePath(wanted->path.c_str(), lldb::eNoDynamicValues);
  };
  lldb::SBValue place = find();
  if (!place.IsValid() || place.GetError().Fail() || !place.GetType().IsReferenceType()) return false;
  if (!is_null(wanted->value)) {
    notice(debugger,
           fmt::format("only null can be assigned to the reference {}: a new object cannot be made, "
                       "and of another one the collector would have to be told",
                       wanted->path));
    return true;
  }
  lldb::SBError error;
  if (place.SetValueFromCString("0", error))
    show(debugger, find());
  else
    notice(debugger,
           fmt::format("{} cannot be set to null: {}", wanted->path,
                       error.GetCString() != nullptr ? error.GetCString() : "LLDB does not say why"));
  return true;
}

} // namespace clr::lldb_plugin
