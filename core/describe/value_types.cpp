#include "core/describe/value_types.h"

#include <fmt/format.h>

namespace clr {
namespace {

// A static field is written as the variable TYPE_FIELD: the fields of this type, which is no other's.
constexpr std::string_view holder = "clr_value_type";

} // namespace

std::string value_type_name(std::size_t number) {
  return fmt::format("{}_{}", holder, number);
}

DebugModule value_types_module(TypeLayouts& layouts, std::span<const TypeUsePtr> uses, Omissions& omissions) {
  DebugModule module;
  module.file_name = "values of .NET";
  module.platform = layouts.finder().target().platform();
  DebugTypes types(layouts, module.types, omissions, [](Address) { return false; });
  DebugType variables{.kind = DebugType::Kind::structure, .name = std::string(holder), .size = 1};
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const DebugTypeIndex index = types.of_part(*uses[i]);
    if (index == no_debug_type) continue;
    variables.fields.push_back({.name = fmt::format("{}", i), .type = index, .static_address = Address{0}});
  }
  types.complete();
  module.types.push_back(std::move(variables));
  return module;
}

} // namespace clr
