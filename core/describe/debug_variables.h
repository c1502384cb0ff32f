// Describes the parameters and locals of managed methods: joins the JIT's variable block with the names of
// the symbols and the types of the signatures. Variables that a compiler moved into a closure or state
// machine appear under the name that the user gave them; that object itself is called "$closure".
#pragma once

#include "core/describe/omissions.h"
#include "core/dwarf/debug_module.h"
#include "core/runtime/runtime.h"

#include <memory>

namespace clr {

// Adds to one module; its types are made once each.
class DebugVariables {
public:
  // `types` are those of the module; reasons of what is missing go to `omissions`. All must outlive this. No
  // reads.
  DebugVariables(Runtime& runtime, std::vector<DebugType>& types, Omissions& omissions);
  ~DebugVariables();

  // Fills variables and return_type of `code`, a body of `method` found as `block`. A variable
  // that cannot be read is left out, and a variable without a home at an instruction has no range there,
  // never a wrong one; what the limits below leave out is told in the omissions. No Error leaves. Cost: that
  // of DebugInfoReader::variables, and some 10 reads for each type that is new.
  void add(DebugBody& code, const CodeBlock& block, const Method& method);

  static constexpr std::size_t max_variables = 10'000; // of one body, each stretch of a scope counted
  static constexpr std::size_t max_homes = 100'000;    // entries of one body's variable block

  // Of all bodies of one module together, since hostile bodies may share one block and one map. A module has
  // 50,000 bodies at most, and real bodies some 10 variables with 1 or 2 ranges each.
  static constexpr std::size_t max_all_ranges = 5'000'000; // variables, and ranges in which they have a place
  // Entries of blocks, stretches of maps and ranges of code that are gone through, once for each variable or
  // scope. A generated method with 1,000 scopes and 100,000 stretches takes 100 million.
  static constexpr std::size_t max_all_steps = 1'000'000'000;
  static constexpr std::size_t max_closure_fields = 5'000'000; // that are looked at for captured variables

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace clr
