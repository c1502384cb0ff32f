// Places of the plugin's as breakpoints of LLDB's that nobody sees.
#pragma once

#include "extension/breakpoints/plants.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/movable_breakpoint.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace clr::lldb_plugin {

class OwnBreakpoints final : public Plants {
public:
  // A hit of each of them calls `entry`. `before` is called before one is made at an address.
  OwnBreakpoints(lldb::SBTarget target, Hidden kind, HitEntry entry, std::function<void(Address)> before = {})
      : target_(target), kind_(kind), entry_(entry), before_(std::move(before)),
        movable_(std::move(target), kind, entry) {}
  // Removes those that are left, as far as the target is there.
  ~OwnBreakpoints() override { remove_all(); }

  int plant(Address address) override;
  int plant(const char* name, const char* library) override;
  // One at which a thread stands stays enabled, until another is planted, enabled or disabled at a later
  // stop: the debugger asks again for the stops of threads that it did not let go on, and a trap where it
  // knows no breakpoint is a signal to it.
  void enable(int place, bool on) override;
  void limit(int place, std::uint64_t thread) override;
  void remove(int place) override;
  void remove_all();

private:
  struct Made {
    Address address = 0; // 0: it is known by name
    bool on = true;
    std::uint64_t thread = 0; // the only one that stops; 0: all do
    lldb::SBBreakpoint named; // of one that is known by name
  };
  // What is wanted at an address becomes what LLDB has there; false when it cannot.
  bool apply(Address address);
  bool is_occupied(Address address);
  void hide(Address address);
  void hide_left();

  lldb::SBTarget target_;
  Hidden kind_;
  HitEntry entry_;
  std::function<void(Address)> before_;
  MovableBreakpoint movable_;
  std::map<int, Made> all_;
  std::map<Address, std::set<int>> at_; // several may be at one address
  int last_ = 0;                        // number
  std::set<Address> left_;              // shown, because a thread stood there
  std::set<Address> occupied_;
  std::uint32_t looked_at_ = 0; // the number of the stop of occupied_; 0: none
};

} // namespace clr::lldb_plugin
