#include "core/runtime/answer.h"

#include "core/memory/path_map.h"

#include <fmt/format.h>

namespace clr {

std::string_view to_string(CodePart part) {
  return part == CodePart::hot ? "hot" : "cold";
}

FaultAnswer to_fault(const Error& error) {
  return {.kind = error.kind(), .at = error.address(), .text = error.what()};
}

std::string source_position(const std::optional<SourceLine>& source) {
  if (!source || source->file.empty()) return {};
  return fmt::format(" at {}:{}:{}", file_name_of(source->file), source->line, source->column);
}

std::string method_and_offset(const Method& method, const runtime::Code& code) {
  const std::string name = method.shown_name();
  std::string text =
      fmt::format("{}`{}", method.module.empty() ? "?" : method.module.str(), name.empty() ? "?" : name);
  if (code.offset.value_or(0) != 0) text += fmt::format(" + {}", *code.offset);
  return text;
}

} // namespace clr
