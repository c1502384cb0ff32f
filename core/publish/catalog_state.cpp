#include "core/publish/catalog_state.h"

#include <iterator>
#include <utility>

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

void CatalogState::refuse(Address begin, OmissionCause cause, std::string of, std::string text) {
  if (refused.size() >= max_refused && !refused.contains(begin)) return;
  refused.insert_or_assign(begin, Omission{.part = OmittedPart::range,
                                           .cause = cause,
                                           .of = std::move(of),
                                           .reading = {},
                                           .text = std::move(text)});
}

void CatalogState::forgive(Address begin, Address end) {
  refused.erase(refused.lower_bound(begin), refused.lower_bound(end));
}

Omissions CatalogState::all_omissions() const {
  Omissions all;
  for (const auto& [module, missing] : omissions) all.add(missing);
  for (const auto& [begin, omission] : refused) all.add(omission);
  return all;
}

void CatalogState::start_over() {
  CatalogState anew;
  anew.last_module = last_module;
  anew.updates = updates;
  std::set<ModuleId> all(gone.begin(), gone.end());
  for (const auto& [begin, span] : spans) all.insert(span.module);
  anew.gone.assign(all.begin(), all.end());
  *this = std::move(anew);
}

void CatalogState::modules_in(Address begin, Address end, std::set<ModuleId>& found) const {
  if (const Span* const first = span_at(begin)) found.insert(first->module);
  for (auto at = spans.lower_bound(begin); at != spans.end() && at->first < end; ++at)
    found.insert(at->second.module);
}

void CatalogState::described_in(Address begin, Address end, std::set<ModuleId>& found) const {
  if (const Span* const first = span_at(begin); first != nullptr && !first->unknown)
    found.insert(first->module);
  for (auto at = spans.lower_bound(begin); at != spans.end() && at->first < end; ++at)
    if (!at->second.unknown) found.insert(at->second.module);
}

} // namespace clr
