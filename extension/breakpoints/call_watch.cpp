#include "extension/breakpoints/call_watch.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

void CallWatch::arm(std::uint64_t thread, std::vector<Address> callers, std::span<const Place> places) {
  disarm();
  if (full()) forget();
  thread_ = thread;
  callers_ = std::move(callers);
  for (const Place& place : places) add(place);
}

void CallWatch::add(const Place& place) {
  if (over_ && !place.part) return;
  want(place.at);
  if (!wanted_.contains(place.at)) return;
  if (place.any_line) any_line_.insert(place.at);
  if (place.part) parts_.insert(place.at);
}

void CallWatch::steps_over() {
  over_ = true;
  std::erase_if(wanted_, [&](Address place) {
    if (parts_.contains(place)) return false;
    if (const int number = places_[place]; number != 0) plants_->enable(number, false);
    return true;
  });
  any_line_.clear();
}

void CallWatch::want(Address place) {
  if (thread_ == 0 || place == 0 || !wanted_.insert(place).second) return;
  int& number = places_[place];
  if (number == 0)
    number = plants_->plant(place);
  else
    plants_->enable(number, true);
  if (number != 0) plants_->limit(number, thread_);
}

bool CallWatch::hit(Visitor& visitor) {
  const Address pc = visitor.pc();
  if (thread_ == 0 || visitor.thread() != thread_ || !wanted_.contains(pc) ||
      std::ranges::none_of(callers_, [&](Address cfa) { return visitor.is_called_by(cfa); }))
    return false;
  if (!any_line_.contains(pc)) return true;
  // Its prologue counts as the first line.
  for (const Address line : visitor.lines(pc))
    if (line != pc) want(line);
  return false;
}

void CallWatch::disarm() {
  thread_ = 0;
  over_ = false;
  any_line_.clear();
  parts_.clear();
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
