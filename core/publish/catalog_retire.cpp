// What CatalogUpdate finds to be gone, or to need another description than it has.
#include "core/isa/architecture.h"
#include "core/publish/catalog_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace clr {
namespace {

// Each is described anew once.
constexpr std::size_t max_exact = 10'000;

} // namespace

void CatalogUpdate::find_freed() {
  std::set<Address> live;
  for (const RangeSection& section : code_.sections())
    if ((section.flags & RangeSection::code_heap) != 0) live.insert(section.begin);
  std::erase_if(state_.heaps, [&](const auto& heap) { return !live.contains(heap.first); });
  const bool lost = state_.bodies.any_heap([&](Address heap) { return !live.contains(heap); });
  if (lost || !walked_.empty()) find_freed_bodies(live);
  for (auto image = state_.images.begin(); image != state_.images.end();) {
    const RangeSection* const now = code_.section_at(image->first);
    if (now != nullptr && now->begin == image->first && now->r2r_module == image->second.module) {
      ++image;
      continue;
    }
    state_.modules_in(image->first, image->second.end, retired_);
    image = state_.images.erase(image);
  }
}

void CatalogUpdate::find_freed_bodies(const std::set<Address>& live) {
  state_.bodies.remove_if([&](Address heap, const KnownBodies::Body& body) {
    const bool gone = !live.contains(heap) || (walked_.contains(heap) && body.seen != state_.updates);
    if (gone) retired_.insert(body.module);
    return gone;
  });
}

void CatalogUpdate::find_interrupted() {
  InterruptedCodes found = interrupted_codes(*runtime_.target());
  for (std::string& text : found.problems) problem(std::move(text));
  std::vector<InterruptedCode>& now = found.codes;
  const auto changed = [&](const std::vector<InterruptedCode>& from, const std::vector<InterruptedCode>& to) {
    for (const InterruptedCode& code : from) {
      if (std::ranges::find(to, code) != to.end()) continue;
      retire_at(code.registers.pc().value_or(0));
    }
  };
  changed(state_.interrupted, now);
  changed(now, state_.interrupted);
  state_.interrupted = std::move(now);
  set_exact();
}

void CatalogUpdate::set_exact() {
  exact_ = options_.exact;
  for (const InterruptedCode& code : state_.interrupted) exact_.push_back(code.registers.pc().value_or(0));
  std::ranges::sort(exact_);
}

void CatalogUpdate::find_epilogues() {
  const auto leaves_by_indirect_jump =
      architecture_of(runtime_.target()->platform().cpu).leaves_by_indirect_jump;
  if (leaves_by_indirect_jump == nullptr) return;
  for (const Address ip : options_.exact) {
    if (!state_.describes(ip) || !leaves_by_indirect_jump(runtime_.target()->memory(), ip)) continue;
    if (state_.exact.size() >= max_exact)
      return problem(fmt::format("no epilogues beyond those of {} methods are described", max_exact));
    try {
      const CodeLookup found = code_.find(ip);
      const auto* const block = std::get_if<CodeBlock>(&found);
      if (block == nullptr) continue;
      // Code with lines has rows for its epilogues from the start.
      if (options_.lines && lines_.has_symbols(runtime_.describe(*block).method)) continue;
      if (state_.exact.insert(block->start).second) retire_at(ip);
    } catch (const std::exception& error) {
      problem(fmt::format("the epilogue at {:#x}: {}", ip, error.what())); // its code stays as it is
    }
  }
}

void CatalogUpdate::retire_at(Address ip) {
  std::set<ModuleId> met;
  state_.modules_in(ip, ip + 1, met);
  if (met.empty()) return;
  retired_.merge(met);
  if (const RangeSection* const section = code_.section_at(ip)) state_.images.erase(section->begin);
}

void CatalogUpdate::retire() {
  retired_.erase(no_module_id);
  if (retired_.empty()) return;
  change_.gone.insert(change_.gone.end(), retired_.begin(), retired_.end());
  std::erase_if(state_.spans, [&](const auto& span) { return retired_.contains(span.second.module); });
  std::erase_if(state_.stubs, [&](const auto& stub) { return retired_.contains(stub.second); });
  state_.bodies.for_each([&](Address, KnownBodies::Body& body) {
    if (!retired_.contains(body.module)) return;
    body.module = no_module_id;
    if (const RangeSection* const section = code_.section_at(body.start))
      new_bodies_.push_back({body.start, body.method_desc, body.code_header, section});
  });
  retired_.clear();
}

} // namespace clr
