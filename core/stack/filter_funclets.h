// Tells exception filters from other funclets. A filter runs in the first pass, while nothing is unwound yet.
// Source: dotnet/runtime src/coreclr/inc/corhdr.h (COR_ILEXCEPTION_CLAUSE_FILTER), src/coreclr/vm/codeman.cpp
// (InitializeEHEnumeration, GetNextEHClause); docs/design/coreclr/botr/readytorun-format.md
// (READYTORUN_SECTION_EXCEPTION_INFO).
#pragma once

#include "core/execution/execution_manager.h"

#include <unordered_map>
#include <vector>

namespace clr {

class FilterFunclets {
public:
  // `code` must outlive this. No reads.
  explicit FilterFunclets(ExecutionManager& code) : code_(&code) {}

  // Whether `block` lies in a filter. Cost: that of ExecutionManager::funclet_start; for a funclet the first
  // time 3 reads of a jitted body, log2(n) + 4 of a ReadyToRun image. Throws Error: memory_missing, corrupt.
  bool is_filter(const CodeBlock& block);

  // Exception clauses of one method, and methods whose filters are kept.
  static constexpr std::uint32_t max_clauses = 65536;
  static constexpr std::size_t max_kept_filters = 100'000;

private:
  std::vector<std::uint32_t> filters_of(const CodeBlock& block) const;

  ExecutionManager* code_;
  std::unordered_map<Address, std::vector<std::uint32_t>> filters_; // offsets in the body, by its start
};

} // namespace clr
