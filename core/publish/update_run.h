// The things that all phases of one update of a catalog share: what is known, the stop that is read, the
// wishes of the caller, and the faults that were met. For the phases of core/publish only.
#pragma once

#include "core/publish/catalog_state.h"
#include "core/publish/code_catalog.h"
#include "core/publish/range_check.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace clr {

class UpdateRun {
public:
  // All must outlive this. No reads.
  UpdateRun(CatalogState& known, Runtime& of, const CatalogOptions& with)
      : state(known), runtime(of), options(with), code(*of.code()), ranges(of),
        last_before(known.last_module), first(known.spans.empty()) {}

  CatalogState& state;
  Runtime& runtime;
  const CatalogOptions& options;
  ExecutionManager& code;
  RangeCheck ranges;
  const ModuleId last_before; // modules after it are made by this update
  const bool first;           // nothing is published yet
  std::size_t methods = 0;    // bodies that were described

  // A fault that people are told; those beyond max_problems are counted.
  void problem(std::string text);
  std::vector<std::string> take_problems();
  // Runs `step`; an Error becomes a problem of `what()`. Any other exception is no fault of the target's data
  // and passes on.
  template<typename What, typename Step>
  void guarded(const What& what, const Step& step) {
    try {
      step();
    } catch (const Error& error) {
      problem(fmt::format("{}: {}", what(), error.what()));
    }
  }

  // Asks the caller now and then whether to give up; true from then on.
  bool stop();
  bool stopped() const { return stopped_; }

  static constexpr std::size_t max_problems = 32;

private:
  std::vector<std::string> problems_;
  std::size_t more_problems_ = 0, asked_ = 0;
  bool stopped_ = false;
};

} // namespace clr
