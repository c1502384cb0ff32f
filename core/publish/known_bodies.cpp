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
  const auto behind = heaps_.upper_bound(start);
  if (behind == heaps_.begin()) return nullptr;
  if (Body* const found = find_in(std::prev(behind)->second, start)) return found;
  const auto stray = strays_.upper_bound({start, start});
  if (stray == strays_.begin() || std::prev(stray)->first != start) return nullptr;
  return find(std::prev(stray)->second, start);
}

KnownBodies::Heaps::iterator KnownBodies::heap_at(Address begin) {
  const auto [heap, is_new] = heaps_.try_emplace(begin);
  if (!is_new || heap == heaps_.begin()) return heap;
  const auto before = std::prev(heap), next = std::next(heap);
  auto body = std::ranges::lower_bound(before->second.bodies, begin, {}, &Body::start);
  for (; body != before->second.bodies.end() && (next == heaps_.end() || body->start < next->first); ++body)
    strays_.emplace(body->start, before->first);
  return heap;
}

void KnownBodies::add(Address heap, const Body& body) {
  const auto place = heap_at(heap), next = std::next(place);
  if (heap <= body.start && next != heaps_.end() && next->first <= body.start)
    strays_.emplace(body.start, heap);
  std::vector<Body>& bodies = place->second.bodies;
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
  strays_.erase({start, heap});
  --size_;
  if (bodies.empty()) heaps_.erase(known);
}

void KnownBodies::remove_if(const std::function<bool(Address heap, const Body&)>& gone) {
  for (auto heap = heaps_.begin(); heap != heaps_.end();) {
    size_ -= std::erase_if(heap->second.bodies, [&](const Body& body) {
      const bool goes = gone(heap->first, body);
      if (goes) strays_.erase({body.start, heap->first});
      return goes;
    });
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
