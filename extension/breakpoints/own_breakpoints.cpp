#include "extension/breakpoints/own_breakpoints.h"

#include <utility>

namespace clr::lldb_plugin {

int OwnBreakpoints::plant(Address address) {
  if (before_) before_(address);
  hide_left();
  const int number = ++last_;
  all_[number] = {.address = address, .on = true, .thread = 0, .named = {}};
  at_[address].insert(number);
  if (apply(address)) return number;
  remove(number);
  return 0;
}

int OwnBreakpoints::plant(const char* name, const char* library) {
  hide_left();
  lldb::SBBreakpoint made = target_.BreakpointCreateByName(name, library);
  if (!made.IsValid()) return 0;
  clr::lldb_plugin::hide(target_, made, kind_);
  entry_.attach(made);
  all_[++last_] = {.address = 0, .on = true, .thread = 0, .named = std::move(made)};
  return last_;
}

bool OwnBreakpoints::is_occupied(Address address) {
  lldb::SBProcess process = target_.GetProcess();
  if (process.GetState() != lldb::eStateStopped) return false;
  if (const std::uint32_t stop = process.GetStopID(true); std::exchange(looked_at_, stop) != stop) {
    occupied_.clear();
    for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i)
      occupied_.insert(process.GetThreadAtIndex(i).GetFrameAtIndex(0).GetPC());
  }
  return occupied_.contains(address);
}

bool OwnBreakpoints::apply(Address address) {
  bool wanted = false;
  std::set<std::uint64_t> threads;
  for (const int number : at_[address]) {
    const Made& made = all_[number];
    if (!made.on) continue;
    wanted = true;
    threads.insert(made.thread);
  }
  if (!wanted) {
    hide(address);
    return true;
  }
  left_.erase(address);
  return movable_.show(address, threads.size() == 1 ? *threads.begin() : 0);
}

void OwnBreakpoints::hide(Address address) {
  if (is_occupied(address))
    left_.insert(address);
  else
    movable_.hide(address);
}

void OwnBreakpoints::hide_left() {
  for (const Address address : std::exchange(left_, {})) hide(address);
}

void OwnBreakpoints::enable(int place, bool on) {
  hide_left();
  const auto found = all_.find(place);
  if (found == all_.end()) return;
  // One that is off stays where it is; one that is on may have to be made again.
  if (!std::exchange(found->second.on, on) && !on) return;
  if (found->second.address != 0)
    apply(found->second.address);
  else
    found->second.named.SetEnabled(on);
}

void OwnBreakpoints::limit(int place, std::uint64_t thread) {
  const auto found = all_.find(place);
  if (found == all_.end()) return;
  found->second.thread = thread;
  if (found->second.address != 0)
    apply(found->second.address);
  else
    found->second.named.SetThreadID(thread != 0 ? thread : LLDB_INVALID_THREAD_ID);
}

void OwnBreakpoints::remove(int place) {
  const auto found = all_.find(place);
  if (found == all_.end()) return;
  const Made made = std::move(found->second);
  all_.erase(found);
  if (made.address == 0) {
    if (target_.IsValid()) target_.BreakpointDelete(made.named.GetID());
    return;
  }
  at_[made.address].erase(place);
  if (target_.IsValid()) apply(made.address);
  if (at_[made.address].empty()) at_.erase(made.address);
}

void OwnBreakpoints::remove_all() {
  for (const auto& [number, made] : all_)
    if (made.address == 0 && target_.IsValid()) target_.BreakpointDelete(made.named.GetID());
  all_.clear();
  at_.clear();
  left_.clear();
  movable_.remove();
}

} // namespace clr::lldb_plugin
