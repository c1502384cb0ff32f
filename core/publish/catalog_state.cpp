#include "core/publish/catalog_state.h"

#include <iterator>

namespace clr {

void CatalogState::add(Address start, const Body& body) {
  const auto [known, is_new] = bodies.try_emplace(start);
  if (!is_new) --bodies_of[known->second.heap];
  known->second = body;
  ++bodies_of[body.heap];
}

std::unordered_map<Address, CatalogState::Body>::iterator
CatalogState::remove(std::unordered_map<Address, Body>::iterator body) {
  const auto heap = bodies_of.find(body->second.heap);
  if (heap != bodies_of.end() && --heap->second == 0) bodies_of.erase(heap);
  return bodies.erase(body);
}

const CatalogState::Span* CatalogState::span_at(Address address) const {
  const auto after = spans.upper_bound(address);
  if (after == spans.begin()) return nullptr;
  const Span& before = std::prev(after)->second;
  return address < before.end ? &before : nullptr;
}

void CatalogState::modules_in(Address begin, Address end, std::set<ModuleId>& found) const {
  if (const Span* const first = span_at(begin)) found.insert(first->module);
  for (auto at = spans.lower_bound(begin); at != spans.end() && at->first < end; ++at)
    found.insert(at->second.module);
}

} // namespace clr
