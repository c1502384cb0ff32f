// The modules of one call of a catalog: made of described code, entered in the state. For catalog_update
// only.
#pragma once

#include "core/publish/catalog_state.h"
#include "core/publish/code_catalog.h"
#include "core/publish/code_modules.h"

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace clr {

class CatalogModules {
public:
  // All must outlive this. `stop`: true gives up; asked before the variables of each body.
  CatalogModules(CatalogState& state, Runtime& runtime, const CatalogOptions& options,
                 std::function<bool()> stop)
      : state_(state), runtime_(runtime), options_(options), stop_(std::move(stop)) {}

  // Where new code of code heaps starts, described or not: no section reaches over it into other code.
  void set_starts(std::vector<Address> starts);
  // A body whose variables are to be in its module.
  void add_source(Address start, const CodeBlock& block, Method method);
  // Makes modules of `described`, which overlaps no other module and is moved from, and hands them on.
  void make(std::vector<OwnedCode*> described);

  // Without CatalogOptions::made: what was made.
  std::vector<CatalogModule> take() { return std::exchange(added_, {}); }
  // Stretches of code that were left out because they overlap others.
  std::size_t dropped() const { return dropped_; }

  // Bytes of ReadyToRun code that are given to modules in one call.
  static constexpr std::uint64_t max_code_bytes = std::uint64_t{1} << 30;

private:
  void add_variables(DebugModule& module);
  void add_bytes(DebugModule& module);

  CatalogState& state_;
  Runtime& runtime_;
  const CatalogOptions& options_;
  std::function<bool()> stop_;
  std::vector<Address> starts_; // ascending
  // Bodies with variables, by start, until their modules are there.
  struct Source {
    CodeBlock block;
    Method method;
  };
  std::unordered_map<Address, Source> sources_;
  std::vector<CatalogModule> added_;
  std::uint64_t code_bytes_ = 0;
  std::size_t dropped_ = 0;
};

} // namespace clr
