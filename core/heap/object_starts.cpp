#include "core/heap/object_starts.h"

#include <algorithm>

namespace clr {

ObjectStarts::ObjectStarts(const Target& target, HeapMap map)
    : map_(std::move(map)), types_(target), walker_(map_, types_) {}

std::optional<HeapHolder> ObjectStarts::holder(Address address) {
  const HeapRange* const range = map_.find(address);
  // The collector keeps notes in objects until it has moved the others.
  if (range == nullptr || map_.state.structures_invalid > 0) return std::nullopt;
  std::vector<Address>& places = known_[range->begin];
  if (places.empty()) places.push_back(range->begin);
  HeapRange rest = *range;
  rest.begin = *std::prev(std::ranges::upper_bound(places, address));
  std::optional<HeapHolder> found;
  std::vector<HeapGap> gaps;
  walker_.walk(
      rest,
      [&](std::span<const HeapObject> objects) {
        for (const HeapObject& object : objects) {
          if (object.address > address || object.address - rest.begin > max_walk) return false;
          if (object.address >= places.back() + stride) places.push_back(object.address);
          if (address - object.address >= object.size) continue;
          found = {object.address, object.size, types_.at(object.type).method_table == map_.free_object};
          return false;
        }
        return true;
      },
      gaps);
  return found;
}

} // namespace clr
