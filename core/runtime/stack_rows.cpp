#include "core/runtime/stack_rows.h"

#include <fmt/format.h>

namespace clr {

namespace {

constexpr std::string_view core_library = "System.Private.CoreLib.dll";
constexpr std::string_view async_helpers = "System.Runtime.CompilerServices.AsyncHelpers";
constexpr std::string_view async_resume = "IL_STUB_AsyncResume"; // .NET 10 adds the method's name

std::string_view async_part_of(const Method& method) {
  if (method.kind == MethodKind::async_thunk) return "async_thunk";
  if (method.kind == MethodKind::il_stub)
    return method.name.find(async_resume) != std::string::npos ? "async_resumption" : "";
  // The class and those inside it; programs may have one of the same name.
  const std::string_view name = method.name;
  return name.starts_with(async_helpers) && name.size() > async_helpers.size() &&
                 (name[async_helpers.size()] == '.' || name[async_helpers.size()] == '+') &&
                 method.module.str() == core_library
             ? "async_helper"
             : "";
}

} // namespace

std::string_view folded_as(const FrameRow& row) {
  if (!row.answer || row.index == 0 || !row.fault.empty()) return "";
  return async_part_of(row.answer->method);
}

std::string text_behind_address(const MethodAnswer& answer) {
  return " " + method_and_offset(answer.method, answer.code) + source_position(answer.source);
}

std::string text_of(const FrameRow& row) {
  if (row.exact)
    return fmt::format("{:#018x} {}{}", row.ip, method_and_offset(row.exact->method, row.answer->code),
                       source_position(row.answer->source));
  if (row.answer) return fmt::format("{:#018x}{}", row.ip, text_behind_address(*row.answer));
  if (!row.frame_type.empty()) {
    std::string text = fmt::format("{:#018x} [{}]", row.sp.value_or(0), row.frame_type);
    if (row.method) text += fmt::format(" {}`{}", row.method->module, row.method->shown_name());
    return text;
  }
  std::string text = fmt::format("{:#018x}", row.ip);
  if (!row.module.empty() || !row.symbol.empty()) text += " ";
  if (!row.module.empty()) text += row.module;
  if (!row.module.empty() && !row.symbol.empty()) text += "`";
  return text + row.symbol + row.position;
}

std::vector<std::string> registers_of(const FrameRow& row) {
  std::vector<std::string> texts;
  if (!row.registers) return texts;
  const Cpu cpu = row.registers->cpu();
  for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg)
    if (const auto value = row.registers->find(reg))
      texts.push_back(fmt::format("{:>3} = {:#018x}", register_name(cpu, reg), *value));
  return texts;
}

} // namespace clr
