#include "core/debuginfo/il_map.h"

#include <algorithm>

namespace clr {

std::string_view to_string(IlMark mark) {
  switch (mark) {
  case IlMark::none:
    return "none";
  case IlMark::before_first:
    return "before_first";
  case IlMark::prolog:
    return "prolog";
  case IlMark::epilog:
    return "epilog";
  case IlMark::no_mapping:
    return "no_mapping";
  case IlMark::mapped:
    return "mapped";
  }
  return "none";
}

IlMap::IlMap(std::vector<IlBoundary> boundaries) : boundaries_(std::move(boundaries)) {
  for (const IlBoundary& boundary : boundaries_) {
    if (boundary.il > 0) greatest_il_ = std::max(greatest_il_, static_cast<std::uint32_t>(boundary.il));
    if ((boundary.source & IlBoundary::call_instruction) != 0) continue;
    if (groups_.empty() || groups_.back().native != boundary.native)
      groups_.push_back({boundary.native, boundary.il});
    else if (boundary.il < groups_.back().il && boundary.il != il_no_mapping)
      groups_.back().il = boundary.il;
  }
}

IlPosition IlMap::position(std::int32_t il) const {
  switch (il) {
  case il_no_mapping:
    return {.mark = IlMark::no_mapping};
  case il_prolog:
    return {.mark = IlMark::prolog};
  case il_epilog:
    return {.il = greatest_il_, .mark = IlMark::epilog};
  default:
    return {.il = static_cast<std::uint32_t>(il), .mark = IlMark::mapped};
  }
}

IlPosition IlMap::at(std::uint64_t native, NativeOffsetKind kind) const {
  if (empty()) return {};
  // The runtime subtracts the size of the smallest instruction. Boundaries lie between instructions, so
  // subtracting one byte gives the same.
  if (kind == NativeOffsetKind::return_address && native > 0) --native;
  const auto after = std::ranges::upper_bound(groups_, native, {}, &Group::native);
  if (after == groups_.begin()) return {.mark = IlMark::before_first};
  return position(std::prev(after)->il);
}

std::vector<IlStretch> IlMap::stretches() const {
  std::vector<IlStretch> all;
  all.reserve(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i)
    all.push_back({.begin = groups_[i].native,
                   .end = i + 1 < groups_.size() ? groups_[i + 1].native : open_end,
                   .position = position(groups_[i].il)});
  return all;
}

bool IlMap::maps_any() const {
  return std::ranges::any_of(
      groups_, [this](const Group& group) { return position(group.il).mark == IlMark::mapped; });
}

std::vector<IlStretch> IlMap::stretches_of(std::uint32_t il) const {
  std::vector<IlStretch> found = stretches();
  std::erase_if(found, [&](const IlStretch& stretch) {
    return stretch.position.mark != IlMark::mapped || stretch.position.il != il;
  });
  return found;
}

} // namespace clr
