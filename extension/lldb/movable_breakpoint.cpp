#include "extension/lldb/movable_breakpoint.h"

#include "core/dwarf/movable_places.h"
#include "core/memory/error.h"
#include "extension/lldb/kept_selection.h"
#include "extension/lldb/modules.h"
#include "extension/lldb/published_module.h"

#include <string>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// LLDB takes a regular expression for several functions; nothing in a prefix but its last dot means another
// thing there.
std::string expression_of(const std::string& prefix) {
  return "^" + prefix.substr(0, prefix.size() - 1) + "[.]";
}
} // namespace

// The functions are in the module before the breakpoint is: LLDB tells the user of places that a breakpoint
// gets later.
bool MovableBreakpoint::add_group() {
  const MovablePlaces places(platform_of(target_), new_module_identity());
  Group group{.module = {}, .breakpoint = {}, .slots = {}, .distance = 0 - places.section_for(0)};
  const KeptSelection selection(target_);
  try {
    const char* const triple = target_.GetTriple();
    places.write([&](FileParts elf) {
      group.module = load_module(triple != nullptr ? triple : "", place_module, elf);
    });
  } catch (const Error&) {
    return false;
  }
  if (!target_.AddModule(group.module)) return false;
  group.breakpoint = target_.BreakpointCreateByRegex(expression_of(places.prefix()).c_str(), place_module);
  std::map<Address, std::uint32_t> sections;
  for (std::size_t i = 0; i < group.module.GetNumSections(); ++i) {
    lldb::SBSection section = group.module.GetSectionAtIndex(i);
    const Address address = section.GetFileAddress();
    sections[address] = static_cast<std::uint32_t>(i);
    // A module without a base stands in the way of `process save-core`.
    if (address == MovablePlaces::base_address)
      target_.SetSectionLoadAddress(section, places.unused_address());
  }
  for (std::uint32_t i = 0; i < group.breakpoint.GetNumLocations(); ++i) {
    const Address function = group.breakpoint.GetLocationAtIndex(i).GetAddress().GetFileAddress();
    const auto section = sections.find(function - group.distance);
    if (section != sections.end()) group.slots.push_back({.section = section->second, .location = i});
  }
  ::clr::lldb_plugin::hide(target_, group.breakpoint, kind_);
  entry_.attach(group.breakpoint);
  groups_.push_back(std::move(group));
  return !groups_.back().slots.empty();
}

lldb::SBBreakpointLocation MovableBreakpoint::location(const Place& place) {
  return groups_[place.first].breakpoint.GetLocationAtIndex(slot(place).location);
}

std::optional<MovableBreakpoint::Place> MovableBreakpoint::free_place() {
  std::optional<Place> oldest;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (std::size_t i = 0; i < groups_[group].slots.size(); ++i) {
      const Place place{group, i};
      const Slot& found = slot(place);
      if (found.address == 0) return place;
      if (!found.shown && (!oldest || found.used < slot(*oldest).used)) oldest = place;
    }
  if (oldest) {
    places_.erase(slot(*oldest).address);
    return oldest;
  }
  if (!add_group()) return std::nullopt;
  return Place{groups_.size() - 1, 0};
}

bool MovableBreakpoint::move(const Place& place, Address address) {
  Group& group = groups_[place.first];
  lldb::SBSection section = group.module.GetSectionAtIndex(slot(place).section);
  const KeptSelection selection(target_);
  if (target_.SetSectionLoadAddress(section, address - group.distance).Fail()) return false;
  slot(place).address = address;
  places_[address] = place;
  return true;
}

bool MovableBreakpoint::show_as_is(Address address, std::uint64_t thread) {
  std::optional<Place> place;
  if (const auto known = places_.find(address); known != places_.end()) {
    place = known->second;
  } else {
    place = free_place();
    if (!place || !move(*place, address)) return false;
  }
  Slot& shown = slot(*place);
  lldb::SBBreakpointLocation there = location(*place);
  if (there.GetLoadAddress() != address) return false;
  if (std::exchange(shown.thread, thread) != thread)
    there.SetThreadID(thread != 0 ? thread : LLDB_INVALID_THREAD_ID);
  if (!std::exchange(shown.shown, true)) there.SetEnabled(true);
  return true;
}

// LLDB drops all modules of a target when its search paths change.
bool MovableBreakpoint::make_again() {
  std::map<Address, std::uint64_t> shown;
  for (const auto& [address, place] : places_)
    if (slot(place).shown) shown[address] = slot(place).thread;
  remove();
  bool all = true;
  for (const auto& [address, thread] : shown) all = show_as_is(address, thread) && all;
  return all;
}

bool MovableBreakpoint::show(Address address, std::uint64_t thread) {
  return show_as_is(address, thread) || (make_again() && show_as_is(address, thread));
}

void MovableBreakpoint::hide(Address address) {
  const auto known = places_.find(address);
  if (known == places_.end()) return;
  Slot& hidden = slot(known->second);
  if (!std::exchange(hidden.shown, false)) return;
  hidden.used = ++uses_;
  location(known->second).SetEnabled(false);
}

void MovableBreakpoint::remove() {
  for (Group& group : groups_) {
    if (!target_.IsValid()) break;
    target_.BreakpointDelete(group.breakpoint.GetID());
    withdraw_module(target_, group.module);
  }
  groups_.clear();
  places_.clear();
}

} // namespace clr::lldb_plugin
