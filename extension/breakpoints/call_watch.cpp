#include "extension/breakpoints/call_watch.h"

#include <utility>

namespace clr::lldb_plugin {

void CallWatch::arm(std::uint64_t thread, Address cfa, std::span<const Address> places) {
  disarm();
  if (full()) forget();
  thread_ = thread;
  cfa_ = cfa;
  for (const Address place : places) add(place);
}

void CallWatch::add(Address place) {
  if (thread_ == 0 || place == 0 || !wanted_.insert(place).second) return;
  int& number = places_[place];
  if (number == 0)
    number = plants_->plant(place);
  else
    plants_->enable(number, true);
  if (number != 0) plants_->limit(number, thread_);
}

bool CallWatch::hit(Visitor& visitor) {
  return thread_ != 0 && visitor.thread() == thread_ && wanted_.contains(visitor.pc()) &&
         visitor.is_called_by(cfa_);
}

void CallWatch::disarm() {
  thread_ = 0;
  for (const Address place : std::exchange(wanted_, {}))
    if (const int number = places_[place]; number != 0) plants_->enable(number, false);
}

void CallWatch::forget() {
  disarm();
  for (const auto& [place, number] : places_)
    if (number != 0) plants_->remove(number);
  places_.clear();
}

} // namespace clr::lldb_plugin
