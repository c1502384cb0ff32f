// The names that types have in the way of C++, as scopes within scopes: what is within a type is a member of
// it, and all else stands in namespaces. A debugger takes a name that is both a type and a namespace for
// ambiguous.
#pragma once

#include "core/dwarf/debug_module.h"

#include <map>
#include <string>
#include <unordered_map>

namespace clr {

struct AliasScope {
  std::map<std::string, AliasScope> inner;
  DebugTypeIndex type = no_debug_type; // what the name stands for; else it is a namespace
};

// Of the aliases of a module, as far as it wants them within types. Those with a name that a module cannot
// have, and those that are nested deeper than max_alias_depth, are left out; of several with one name the
// first counts.
AliasScope alias_tree(const DebugModule& module);
constexpr std::size_t max_alias_depth = 32;

// The scopes of `tree` that are types with names within them, by these types; of several of one type one.
std::unordered_map<DebugTypeIndex, const AliasScope*> homes_of(const AliasScope& tree);

} // namespace clr
