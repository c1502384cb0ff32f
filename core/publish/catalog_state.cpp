#include "core/publish/catalog_state.h"

#include <iterator>

namespace clr {

const CatalogState::Span* CatalogState::span_at(Address address) const {
  const auto after = spans.upper_bound(address);
  if (after == spans.begin()) return nullptr;
  const Span& before = std::prev(after)->second;
  return address < before.end ? &before : nullptr;
}

bool CatalogState::describes(Address address) const {
  const Span* const span = span_at(address);
  return span != nullptr && !span->unknown;
}

void CatalogState::modules_in(Address begin, Address end, std::set<ModuleId>& found) const {
  if (const Span* const first = span_at(begin)) found.insert(first->module);
  for (auto at = spans.lower_bound(begin); at != spans.end() && at->first < end; ++at)
    found.insert(at->second.module);
}

} // namespace clr
