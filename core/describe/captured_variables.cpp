#include "core/describe/captured_variables.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace clr {
namespace {

struct SourceField {
  std::string name;     // empty: the compiler's own
  bool closure = false; // leads to a closure around this one
  std::optional<std::uint32_t> scope;
};

// "x" of "$VB$Local_x" and the like.
std::optional<std::string> visual_basic_name(const std::string& field) {
  if (field == "$VB$Me") return "this";
  for (const std::string_view prefix : {"$VB$Local_", "$VB$ResumableLocal_"}) {
    if (!field.starts_with(prefix)) continue;
    std::string name = field.substr(prefix.size());
    if (prefix == "$VB$ResumableLocal_") name = name.substr(0, name.rfind('$'));
    return name;
  }
  return std::nullopt;
}

SourceField source_of(const std::string& field) {
  if (const auto name = visual_basic_name(field)) return {.name = *name};
  if (is_closure_local(field)) return {.closure = true};
  if (field.empty() || (field.front() != '<' && field.front() != '$')) return {.name = field};
  if (field.starts_with("<>4__this")) return {.name = "this"};
  if (field.starts_with("<>8__")) return {.closure = true};
  // "<name>5__2": a local that lives across a wait; the number less 1 is that of its scope.
  const std::size_t end = field.rfind(">5__");
  if (field.front() != '<' || end == std::string::npos || end < 2) return {};
  SourceField source{.name = field.substr(1, end - 1)};
  std::uint32_t number = 0;
  const char* const last = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data() + end + 4, last, number);
  if (error == std::errc() && stop == last && number > 0) source.scope = number - 1;
  return source;
}

// Gathers the variables of one closure and of those around it.
class Collector {
public:
  Collector(TypeLayouts& layouts, Omissions& omissions, std::size_t& fields)
      : layouts_(layouts), omissions_(omissions), fields_(fields) {}

  // `path` leads to a value of `type`, or to a pointer to it.
  void collect(const TypeUse& type, const std::vector<std::uint32_t>& path, bool by_pointer, unsigned depth) {
    if (type.method_table == 0) return;
    if (depth > max_closure_depth)
      return omit(type, OmissionCause::limit,
                  fmt::format("closures are followed {} deep", max_closure_depth));
    try {
      collect_fields(layouts_.of(type.method_table), type, path, by_pointer, depth);
    } catch (const Error& error) {
      omissions_.add(OmittedPart::captured, format_type(*type.name), "the layout", error);
    }
  }

  std::vector<CapturedVariable> take() { return std::move(found_); }

private:
  void collect_fields(const TypeLayout& layout, const TypeUse& type, const std::vector<std::uint32_t>& path,
                      bool by_pointer, unsigned depth) {
    if (!layout.problem.empty()) omit(type, OmissionCause::partial, layout.problem);
    const std::uint32_t header = layout.table.is_value_type() ? 0 : layouts_.finder().target().pointer_size();
    for (const FieldLayout& field : layout.fields) {
      // Closures that lead to each other are walked in each of their ways.
      if (fields_ == 0) return omit(type, OmissionCause::limit, "the closures have too many fields");
      --fields_;
      if (field.is_static) continue;
      if (found_.size() >= max_captured)
        return omit(type, OmissionCause::limit,
                    fmt::format("a closure has {} variables at most", max_captured));
      const SourceField source = source_of(field.name);
      std::vector<std::uint32_t> place = path;
      if (by_pointer || place.empty())
        place.push_back(header + field.offset);
      else
        place.back() += header + field.offset;
      if (source.closure)
        collect(*field.type, place, field.type->is_reference(), depth + 1);
      else if (!source.name.empty())
        found_.push_back(
            {.name = source.name, .type = field.type, .path = place, .hoisted_scope = source.scope});
    }
  }

  void omit(const TypeUse& type, OmissionCause cause, std::string text) {
    omissions_.add({.part = OmittedPart::captured,
                    .cause = cause,
                    .of = format_type(*type.name),
                    .reading = {},
                    .text = std::move(text)});
  }

  TypeLayouts& layouts_;
  Omissions& omissions_;
  std::size_t& fields_; // that may still be looked at
  std::vector<CapturedVariable> found_;
};

const std::string& last_name(const TypeName& type) {
  static const std::string none;
  const TypeName* definition = &type;
  if (type.shape == TypeShape::instance && type.element) definition = type.element.get();
  return definition->chain.empty() ? none : definition->chain.back();
}

} // namespace

bool is_closure(const TypeName& type) {
  const std::string& name = last_name(type);
  return name.starts_with("<>c__DisplayClass") || name.starts_with("_Closure$__");
}

bool is_state_machine(const TypeName& type) {
  const std::string& name = last_name(type);
  return (name.starts_with("<") && name.find(">d") != std::string::npos) ||
         name.starts_with("VB$StateMachine_");
}

bool is_closure_local(const std::string& name) {
  return name.starts_with("CS$<>8__locals") || name.starts_with("$VB$Closure_");
}

std::vector<CapturedVariable> captured_variables(TypeLayouts& layouts, const TypeUse& type,
                                                 Omissions& omissions, std::size_t& fields) {
  Collector collector(layouts, omissions, fields);
  collector.collect(type, {}, true, 0);
  return collector.take();
}

} // namespace clr
