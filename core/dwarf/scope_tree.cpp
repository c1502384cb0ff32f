#include "core/dwarf/scope_tree.h"

#include <algorithm>

namespace clr {
namespace {

struct ScopedVariable {
  std::uint32_t begin, end;
  const DebugVariable* variable;
};

} // namespace

VariableScope scope_tree(const std::vector<DebugVariable>& variables, std::uint32_t code_size) {
  VariableScope root{.begin = 0, .end = code_size};
  std::vector<ScopedVariable> scoped;
  for (const DebugVariable& variable : variables) {
    const bool everywhere = variable.parameter || (variable.scope_begin == 0 && variable.scope_end == 0) ||
                            (variable.scope_begin == 0 && variable.scope_end == code_size);
    if (everywhere)
      root.variables.push_back(&variable);
    else if (variable.scope_begin < variable.scope_end && variable.scope_begin < code_size)
      scoped.push_back({variable.scope_begin, std::min(variable.scope_end, code_size), &variable});
  }
  // An outer scope before what is in it.
  std::ranges::stable_sort(scoped, [](const ScopedVariable& a, const ScopedVariable& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<VariableScope*> open{&root};
  for (const ScopedVariable& next : scoped) {
    while (open.back()->end <= next.begin) open.pop_back();
    VariableScope& around = *open.back();
    const std::uint32_t end = std::min(next.end, around.end);
    const bool same = open.size() > 1 && around.begin == next.begin && around.end == end;
    if (!same && open.size() < max_scope_depth) {
      // Of the inner scopes of `around` at most the last one is open, and that has just been closed.
      around.inner.push_back({.begin = next.begin, .end = end});
      open.push_back(&around.inner.back());
    }
    open.back()->variables.push_back(next.variable);
  }
  return root;
}

} // namespace clr
