#include "core/publish/known_bodies.h"

#include <algorithm>
#include <iterator>

namespace clr {

KnownBodies::Body* KnownBodies::find_in(Heap& heap, Address start) {
  std::vector<Body>& bodies = heap.bodies;
  if (heap.next >= bodies.size() || bodies[heap.next].start != start) {
    const auto found = std::ranges::lower_bound(bodies, start, {}, &Body::start);
    if (found == bodies.end() || found->start != start) return nullptr;
    heap.next = static_cast<std::size_t>(found - bodies.begin());
  }
  return &bodies[heap.next++];
}

KnownBodies::Body* KnownBodies::find(Address heap, Address start) {
  const auto known = heaps_.find(heap);
  return known == heaps_.end() ? nullptr : find_in(known->second, start);
}

KnownBodies::Body* KnownBodies::find(Address start) {
  // The nearest one has it, unless the map of sections lies.
  for (auto heap = heaps_.upper_bound(start); heap != heaps_.begin();)
    if (Body* const found = find_in((--heap)->second, start)) return found;
  return nullptr;
}

void KnownBodies::add(Address heap, const Body& body) {
  std::vector<Body>& bodies = heaps_[heap].bodies;
  if (bodies.empty() || bodies.back().start < body.start) {
    bodies.push_back(body);
    ++size_;
    return;
  }
  const auto at = std::ranges::lower_bound(bodies, body.start, {}, &Body::start);
  if (at->start == body.start) {
    *at = body;
    return;
  }
  bodies.insert(at, body);
  ++size_;
}

void KnownBodies::remove(Address heap, Address start) {
  const auto known = heaps_.find(heap);
  if (known == heaps_.end()) return;
  std::vector<Body>& bodies = known->second.bodies;
  const auto at = std::ranges::lower_bound(bodies, start, {}, &Body::start);
  if (at == bodies.end() || at->start != start) return;
  bodies.erase(at);
  --size_;
  if (bodies.empty()) heaps_.erase(known);
}

void KnownBodies::remove_if(const std::function<bool(Address heap, const Body&)>& gone) {
  for (auto heap = heaps_.begin(); heap != heaps_.end();) {
    size_ -= std::erase_if(heap->second.bodies, [&](const Body& body) { return gone(heap->first, body); });
    heap = heap->second.bodies.empty() ? heaps_.erase(heap) : std::next(heap);
  }
}

std::size_t KnownBodies::size(Address heap) const {
  const auto known = heaps_.find(heap);
  return known == heaps_.end() ? 0 : known->second.bodies.size();
}

bool KnownBodies::any_heap(const std::function<bool(Address)>& tells) const {
  return std::ranges::any_of(heaps_, [&](const auto& heap) { return tells(heap.first); });
}

} // namespace clr
