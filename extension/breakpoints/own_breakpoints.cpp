#include "extension/breakpoints/own_breakpoints.h"

#include <utility>

namespace clr::lldb_plugin {

int OwnBreakpoints::keep(lldb::SBBreakpoint made, Address address) {
  disable_left();
  if (!made.IsValid()) return 0;
  hide(target_, made, kind_);
  entry_.attach(made);
  const int id = made.GetID();
  all_[id] = {std::move(made), address};
  return id;
}

int OwnBreakpoints::plant(Address address) {
  if (before_) before_(address);
  return keep(target_.BreakpointCreateByAddress(address), address);
}

int OwnBreakpoints::plant(const char* name, const char* library) {
  return keep(target_.BreakpointCreateByName(name, library), 0);
}

bool OwnBreakpoints::is_occupied(Address address) {
  lldb::SBProcess process = target_.GetProcess();
  if (address == 0 || process.GetState() != lldb::eStateStopped) return false;
  if (const std::uint32_t stop = process.GetStopID(true); std::exchange(looked_at_, stop) != stop) {
    occupied_.clear();
    for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i)
      occupied_.insert(process.GetThreadAtIndex(i).GetFrameAtIndex(0).GetPC());
  }
  return occupied_.contains(address);
}

void OwnBreakpoints::disable(int place) {
  const auto found = all_.find(place);
  if (found == all_.end()) return;
  if (is_occupied(found->second.address))
    left_.insert(place);
  else
    found->second.breakpoint.SetEnabled(false);
}

void OwnBreakpoints::disable_left() {
  for (const int place : std::exchange(left_, {})) disable(place);
}

void OwnBreakpoints::enable(int place, bool on) {
  disable_left();
  if (!on) return disable(place);
  left_.erase(place);
  const auto found = all_.find(place);
  if (found == all_.end()) return;
  if (is_lost(found->second)) replace(found->second);
  found->second.breakpoint.SetEnabled(true);
}

// LLDB knows a place by the module that it lies in, which may have made room for another one.
bool OwnBreakpoints::is_lost(Made& made) const {
  return made.address != 0 && made.breakpoint.GetLocationAtIndex(0).GetLoadAddress() != made.address;
}

void OwnBreakpoints::replace(Made& made) {
  if (before_) before_(made.address);
  lldb::SBBreakpoint another = target_.BreakpointCreateByAddress(made.address);
  if (!another.IsValid()) return;
  target_.BreakpointDelete(made.breakpoint.GetID());
  hide(target_, another, kind_);
  entry_.attach(another);
  made.breakpoint = std::move(another);
}

void OwnBreakpoints::limit(int place, std::uint64_t thread) {
  if (const auto found = all_.find(place); found != all_.end())
    found->second.breakpoint.SetThreadID(thread != 0 ? thread : LLDB_INVALID_THREAD_ID);
}

void OwnBreakpoints::remove(int place) {
  left_.erase(place);
  const auto found = all_.find(place);
  if (found == all_.end()) return;
  if (target_.IsValid()) target_.BreakpointDelete(found->second.breakpoint.GetID());
  all_.erase(found);
}

void OwnBreakpoints::remove_all() {
  while (!all_.empty()) remove(all_.begin()->first);
}

} // namespace clr::lldb_plugin
