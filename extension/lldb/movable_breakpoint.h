// One breakpoint of LLDB's at many places, which come and go. Each breakpoint takes the next number of the
// user's, and LLDB's API has no call that adds a place to one.
#pragma once

#include "core/memory/platform.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/hidden_breakpoints.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

class MovableBreakpoint {
public:
  // Nobody sees it, as `kind` says; a hit calls `entry`.
  MovableBreakpoint(lldb::SBTarget target, Hidden kind, HitEntry entry)
      : target_(std::move(target)), kind_(kind), entry_(entry) {}
  MovableBreakpoint(const MovableBreakpoint&) = delete;
  MovableBreakpoint& operator=(const MovableBreakpoint&) = delete;
  ~MovableBreakpoint() { remove(); }

  // It is at `address` from now on, for `thread` alone, by the kernel's id, or for all (0). False when LLDB
  // makes no breakpoint there. Cost: at a new place LLDB drops the frames that it has.
  bool show(Address address, std::uint64_t thread);
  // No longer.
  void hide(Address address);
  // It is nowhere. As far as the target is there.
  void remove();

private:
  // A function of the module of a group.
  struct Slot {
    std::uint32_t section = 0, location = 0; // their numbers in the module and in the breakpoint
    Address address = 0;                     // 0: it was nowhere yet
    std::uint64_t thread = 0;                // see show()
    bool shown = false;
    std::uint64_t used = 0; // when it was hidden
  };
  struct Group {
    lldb::SBModule module;
    lldb::SBBreakpoint breakpoint;
    std::vector<Slot> slots;
    Address distance = 0; // from a section to its function
  };
  using Place = std::pair<std::size_t, std::size_t>; // a group and a slot of it

  lldb::SBBreakpointLocation location(const Place& place);
  Slot& slot(const Place& place) { return groups_[place.first].slots[place.second]; }
  std::optional<Place> free_place();
  bool add_group();
  bool move(const Place& place, Address address);
  bool show_as_is(Address address, std::uint64_t thread);
  bool make_again();

  lldb::SBTarget target_;
  Hidden kind_;
  HitEntry entry_;
  std::vector<Group> groups_;
  std::map<Address, Place> places_; // of all slots that are or were at an address
  std::uint64_t uses_ = 0;
};

} // namespace clr::lldb_plugin
