#include "core/describe/value_types.h"

#include <fmt/format.h>

namespace clr {

std::string value_type_name(std::size_t number) {
  return fmt::format("clr_value_type_{}", number);
}

DebugModule value_types_module(TypeLayouts& layouts, std::span<const TypeUsePtr> uses, Omissions& omissions) {
  DebugModule module;
  module.file_name = "values of .NET";
  module.platform = layouts.finder().target().platform();
  DebugTypes types(layouts, module.types, omissions, [](Address) { return false; });
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const DebugTypeIndex index = types.of_part(*uses[i]);
    if (index == no_debug_type) continue;
    module.globals.push_back({.name = value_type_name(i), .type = index, .static_address = Address{0}});
  }
  types.complete();
  return module;
}

} // namespace clr
