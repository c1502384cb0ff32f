#include "extension/breakpoints/own_breakpoints.h"

namespace clr::lldb_plugin {

int OwnBreakpoints::keep(lldb::SBBreakpoint made) {
  if (!made.IsValid()) return 0;
  hide(target_, made, kind_);
  entry_.attach(made);
  const int id = made.GetID();
  all_[id] = std::move(made);
  return id;
}

int OwnBreakpoints::plant(Address address) {
  return keep(target_.BreakpointCreateByAddress(address));
}

int OwnBreakpoints::plant(const char* name, const char* library) {
  return keep(target_.BreakpointCreateByName(name, library));
}

void OwnBreakpoints::enable(int place, bool on) {
  if (const auto found = all_.find(place); found != all_.end()) found->second.SetEnabled(on);
}

void OwnBreakpoints::remove(int place) {
  if (all_.erase(place) != 0 && target_.IsValid()) target_.BreakpointDelete(place);
}

void OwnBreakpoints::remove_all() {
  while (!all_.empty()) remove(all_.begin()->first);
}

} // namespace clr::lldb_plugin
