#include "core/publish/catalog_phases.h"
#include "core/publish/update_run.h"

#include <algorithm>

namespace clr {

CurrentCode withdraw(UpdateRun& run, FoundCode found) {
  CurrentCode current;
  current.bodies_ = std::move(found.bodies_);
  current.stubs_ = std::move(found.stubs_);
  std::set<ModuleId>& outdated = found.outdated_;
  outdated.erase(no_module_id);
  if (outdated.empty()) return current;
  CatalogState& state = run.state;
  state.gone.insert(state.gone.end(), outdated.begin(), outdated.end());
  std::erase_if(state.spans, [&](const auto& span) { return outdated.contains(span.second.module); });
  std::erase_if(state.stubs, [&](const auto& stub) { return outdated.contains(stub.second); });
  std::erase_if(state.made, [&](const auto& module) { return outdated.contains(module.first); });
  std::erase_if(state.omissions, [&](const auto& module) { return outdated.contains(module.first); });
  state.bodies.for_each([&](Address, KnownBodies::Body& body) {
    if (!outdated.contains(body.module)) return;
    body.module = no_module_id;
    if (const RangeSection* const section = run.code.section_at(body.start))
      current.bodies_.push_back({body.start, body.method_desc, body.code_header, section});
  });
  return current;
}

CodeStarts CurrentCode::starts() const {
  CodeStarts starts;
  starts.reserve(bodies_.size() + stubs_.size());
  for (const NewBody& body : bodies_) starts.push_back(body.start);
  for (const NewStubs& stubs : stubs_) starts.push_back(stubs.begin);
  // They come in the order of the heaps but for a few.
  const auto few = std::ranges::is_sorted_until(starts);
  std::ranges::sort(few, starts.end());
  std::ranges::inplace_merge(starts, few);
  return starts;
}

} // namespace clr
