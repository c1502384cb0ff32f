#include "core/dwarf/alias_tree.h"

#include "core/dwarf/string_section.h"

#include <algorithm>

namespace clr {
namespace {

void empty_types(AliasScope& scope) {
  for (auto& [name, inner] : scope.inner)
    if (inner.type != no_debug_type)
      inner.inner.clear();
    else
      empty_types(inner);
}

void add_homes(const AliasScope& scope, std::unordered_map<DebugTypeIndex, const AliasScope*>& homes) {
  for (const auto& [name, inner] : scope.inner) {
    if (inner.type != no_debug_type && !inner.inner.empty()) homes.emplace(inner.type, &inner);
    add_homes(inner, homes);
  }
}

} // namespace

AliasScope alias_tree(const DebugModule& module) {
  AliasScope root;
  for (const DebugAlias& alias : module.aliases) {
    if (alias.scope.size() >= max_alias_depth || !is_usable_name(alias.name) ||
        !std::ranges::all_of(alias.scope, is_usable_name))
      continue;
    AliasScope* scope = &root;
    for (const std::string& part : alias.scope) scope = &scope->inner[part];
    DebugTypeIndex& type = scope->inner[alias.name].type;
    if (type == no_debug_type) type = alias.type;
  }
  if (!module.names_in_types) empty_types(root);
  return root;
}

std::unordered_map<DebugTypeIndex, const AliasScope*> homes_of(const AliasScope& tree) {
  std::unordered_map<DebugTypeIndex, const AliasScope*> homes;
  add_homes(tree, homes);
  return homes;
}

} // namespace clr
