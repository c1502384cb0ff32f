// Places of the plugin's as breakpoints of LLDB's that nobody sees.
#pragma once

#include "extension/breakpoints/plants.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/hidden_breakpoints.h"

#include <lldb/API/LLDB.h>

#include <map>

namespace clr::lldb_plugin {

class OwnBreakpoints final : public Plants {
public:
  // A hit of each of them calls `entry`.
  OwnBreakpoints(lldb::SBTarget target, Hidden kind, HitEntry entry)
      : target_(std::move(target)), kind_(kind), entry_(entry) {}
  // Removes those that are left, as far as the target is there.
  ~OwnBreakpoints() override { remove_all(); }

  int plant(Address address) override;
  int plant(const char* name, const char* library) override;
  void enable(int place, bool on) override;
  void remove(int place) override;
  void remove_all();

private:
  int keep(lldb::SBBreakpoint made);

  lldb::SBTarget target_;
  Hidden kind_;
  HitEntry entry_;
  std::map<int, lldb::SBBreakpoint> all_; // by LLDB's number
};

} // namespace clr::lldb_plugin
