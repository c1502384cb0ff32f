#include "core/describe/await_places.h"

namespace clr {

namespace {
Address address_of(const MethodRegions& regions, std::uint32_t offset) {
  return offset < regions.hot_size ? regions.hot_start + offset
                                   : regions.cold_start + (offset - regions.hot_size);
}

// The code of the smallest IL offset in [from, to): optimised code does not map every one.
Address first_code(const MethodRegions& regions, const std::vector<IlStretch>& stretches, std::uint32_t from,
                   std::uint32_t to) {
  const IlStretch* first = nullptr;
  for (const IlStretch& stretch : stretches) {
    const IlPosition& position = stretch.position;
    if (position.mark != IlMark::mapped || position.il < from || position.il >= to) continue;
    if (first == nullptr || position.il < first->position.il) first = &stretch;
  }
  return first != nullptr ? address_of(regions, first->begin) : 0;
}
} // namespace

std::vector<AwaitPlace> await_places(const MethodRegions& regions, const IlMap& map,
                                     const AsyncMethod& method) {
  const std::vector<IlStretch> stretches = map.stretches();
  std::vector<AwaitPlace> places;
  for (const AwaitPoint& point : method.awaits)
    places.push_back(
        {.yield = first_code(regions, stretches, point.yield_offset, point.resume_offset),
         .resume = first_code(regions, stretches, point.resume_offset, PortablePdb::max_il_offset)});
  return places;
}

} // namespace clr
