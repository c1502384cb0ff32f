// The lexical blocks of a function: in each of them some variables have their names.
#pragma once

#include "core/dwarf/debug_module.h"

#include <vector>

namespace clr {

struct VariableScope {
  std::uint32_t begin = 0, end = 0; // bytes from the start of the code
  std::vector<const DebugVariable*> variables;
  std::vector<VariableScope> inner; // within this one, ascending, disjoint
};

// The scopes of `variables`, within that of the whole code, which is first and has the parameters. A scope
// that reaches out of the one in which it begins ends with that; one beyond the code is left out with its
// variables.
constexpr unsigned max_scope_depth = 64;
VariableScope scope_tree(const std::vector<DebugVariable>& variables, std::uint32_t code_size);

} // namespace clr
