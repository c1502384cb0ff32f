#include "extension/commands/text.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
constexpr int label_width = 14;

void add(std::string& out, std::string_view label, std::string_view value) {
  out += fmt::format("  {:<{}}{}\n", fmt::format("{}:", label), label_width, value);
}

std::string part_text(const CodeRegion& region) {
  return fmt::format("{} [{:#x}, {:#x}) {} bytes", to_string(region.part), region.start,
                     region.start + region.size, region.size);
}

void add_method(std::string& out, const Method& method) {
  if (method.user) add(out, "compiled as", printable(method.full_name));
  add(out, "module",
      method.module_path.empty() || method.module_path == method.module
          ? printable(method.module)
          : fmt::format("{} ({})", printable(method.module), printable(method.module_path)));
  if (method.token != 0) add(out, "token", fmt::format("{:#x}", method.token));
  if (method.method_desc != 0) add(out, "MethodDesc", fmt::format("{:#x}", method.method_desc));
  if (method.method_table != 0) add(out, "MethodTable", fmt::format("{:#x}", method.method_table));
  if (method.kind != MethodKind::il) add(out, "method kind", to_string(method.kind));
  if (!method.degraded.empty())
    add(out, "name", fmt::format("incomplete: {}", printable(method.degraded)));
  else if (method.name_from != NameSource::memory)
    add(out, "name from", to_string(method.name_from));
}

void add_code(std::string& out, const runtime::Code& code) {
  add(out, "code", describe_kind(code));
  add(out, "start", start_text(code));
  if (code.offset) add(out, "offset", fmt::format("{}", *code.offset));
  if (code.funclet) add(out, "funclet", fmt::format("starts at {:#x}", *code.funclet));
  for (const CodeRegion& region : code.regions) add(out, "region", part_text(region));
  if (!code.fault.empty()) add(out, "not known", printable(code.fault));
}
} // namespace

std::string start_text(const runtime::Code& code) {
  return code.start != 0 ? fmt::format("{:#x}", code.start) : "?";
}

std::string describe_kind(const runtime::Code& code) {
  const auto tier = to_string(code.tier);
  std::string text(to_string(code.kind));
  if (!tier) return code.kind == CodeKind::jitted ? text + ", tier not known" : text;
  return *tier == text ? text : fmt::format("{}, {}", text, *tier);
}

std::string describe(const runtime::Answer& answer) {
  std::string out = fmt::format("{:#018x}: ", answer.address);
  if (const auto* found = std::get_if<MethodAnswer>(&answer.result)) {
    out += printable(method_and_offset(found->method, found->code)) + "\n";
    add_method(out, found->method);
    add_code(out, found->code);
    if (found->source) {
      const SourceLine& source = *found->source;
      add(out, "IL offset", fmt::format("{:#x}", source.il_offset));
      if (!source.file.empty())
        add(out, "source", fmt::format("{}:{}:{}", printable(source.file), source.line, source.column));
    }
  } else if (const auto* miss = std::get_if<MissAnswer>(&answer.result)) {
    out += fmt::format("no managed method ({}): {}\n", to_string(miss->reason), printable(miss->text));
    if (!miss->symbol.empty()) add(out, "symbol", printable(miss->symbol));
    if (miss->method) {
      add(out, "method", printable(miss->method->shown_name()));
      add_method(out, *miss->method);
    }
  } else {
    const auto& fault = std::get<FaultAnswer>(answer.result);
    out += fmt::format("not known ({}): {}\n", to_string(fault.kind), printable(fault.text));
  }
  return out;
}

std::string whole_text_hint(std::uint64_t count, const std::string& glob) {
  if (count != 0 || glob.empty() || glob.find_first_of("*?") != std::string::npos) return {};
  return fmt::format("; the pattern must match from end to end: *{}* finds it anywhere", glob);
}

void warn_of(Output& out, const std::vector<EnumerationHole>& holes) {
  // A torn core has thousands of places that cannot be read; the first ones are enough.
  constexpr std::size_t max_holes_shown = 5;
  for (std::size_t i = 0; i < holes.size() && i < max_holes_shown; ++i)
    out.warning(fmt::format("incomplete: {}", holes[i].what));
  if (holes.size() > max_holes_shown)
    out.warning(fmt::format("incomplete: {} more places cannot be read", holes.size() - max_holes_shown));
}

} // namespace clr::lldb_plugin
