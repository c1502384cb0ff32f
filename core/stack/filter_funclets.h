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
  // time 3 reads of a jitted body, log2(n) + 4 of a ReadyToRun image. Throws Error: memory_missing, corrupt,
  // also beyond max_all_clauses.
  bool is_filter(const CodeBlock& block);

  // Exception clauses of one method, and of all methods that are asked for: they may share their clauses.
  static constexpr std::uint32_t max_clauses = 65536;
  static constexpr std::uint64_t max_all_clauses = 16 * 1024 * 1024;
  // Methods whose filters are kept, and their filters; when there are more, all are read again.
  static constexpr std::size_t max_kept_filters = 100'000, max_kept_offsets = 4 * 1024 * 1024;

private:
  std::vector<std::uint32_t> filters_of(const CodeBlock& block);
  std::vector<std::uint32_t> jitted_filters(const CodeBlock& block);
  std::vector<std::uint32_t> r2r_filters(const CodeBlock& block);
  std::vector<std::uint32_t> filters_in(Address clauses, std::uint64_t count, CodeKind kind);

  ExecutionManager* code_;
  // Offsets in the body, ascending, by its start.
  std::unordered_map<Address, std::vector<std::uint32_t>> filters_;
  std::size_t kept_offsets_ = 0;
  std::uint64_t clauses_ = 0; // that were read
};

} // namespace clr
