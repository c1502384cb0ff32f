#include "extension/breakpoints/handler_watch.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

void HandlerWatch::disarm() {
  thread_ = 0;
  left_to_ = 0;
  own_.clear();
  called_.clear();
  if (!std::exchange(planted_, false)) return;
  for (auto& [address, place] : places_) {
    plants_->enable(place.number, false);
    place.stops.clear();
    place.then.clear();
  }
}

void HandlerWatch::drop(std::vector<std::pair<Address, Address>>& handlers) {
  for (const auto& [at, frame] : std::exchange(handlers, {})) {
    places_[at].stops.erase(frame);
    places_[at].then.erase(frame);
  }
}

void HandlerWatch::steps_over() {
  drop(called_);
}

void HandlerWatch::steps_out() {
  drop(called_);
  drop(own_);
}

// Index of the frame of the method whose handler the innermost frame is; 0: it is no handler.
std::size_t HandlerWatch::method_of_handler(std::span<const Frame> frames) {
  if (frames.empty() || !frames[0].funclet) return 0;
  for (std::size_t i = 1; i < frames.size(); ++i)
    if (frames[i].rbp == frames[0].rbp && !frames[i].funclet && frames[i].handlers != nullptr) return i;
  return 0;
}

void HandlerWatch::forget() {
  disarm();
  for (const auto& [address, place] : places_) plants_->remove(place.number);
  places_.clear();
}

bool HandlerWatch::goes_on(std::uint64_t thread, Address pc) {
  if (thread_ == 0 || thread != thread_ || left_to_ == 0) return false;
  return pc == std::exchange(left_to_, 0);
}

// The thread stands in a handler, in front of its first line.
bool HandlerWatch::is_before(const Frame& frame, const HandlerEntries::Shown& entry) {
  return frame.funclet && frame.pc >= entry.begin && frame.pc < entry.line;
}

// Null: the innermost frame's caller has lines, or nobody has.
const HandlerWatch::Frame* HandlerWatch::caller_behind_code_without_lines(std::span<const Frame> frames) {
  if (frames.size() < 3 || !frames[0].has_line || frames[0].funclet || !frames[0].returns_to_caller ||
      frames[1].has_line)
    return nullptr;
  const auto caller =
      std::find_if(frames.begin() + 2, frames.end(), [](const Frame& f) { return f.has_line; });
  return caller != frames.end() ? &*caller : nullptr;
}

void HandlerWatch::arm(std::uint64_t thread, std::span<const Frame> frames, bool out,
                       std::span<const Address> resumes) {
  disarm();
  thread_ = thread;
  const Frame* caller = nullptr; // the next one outward that has a line
  const std::size_t method = method_of_handler(frames);
  for (std::size_t i = frames.size(); i-- > (out ? 1u : 0u);) {
    const Frame& frame = frames[i];
    if (frame.handlers != nullptr) {
      for (const HandlerEntries::Shown& entry : frame.handlers->shown)
        if (!is_before(frames[0], entry) || frame.rbp != frames[0].rbp) {
          // The method may have been entered from one of its own handlers: that frame's are not its own.
          const bool first = place(entry.line).stops.insert(frame.rbp).second;
          if (i == 0 && first) own_.emplace_back(entry.line, frame.rbp);
          if (i > 0 && i < method && first) called_.emplace_back(entry.line, frame.rbp);
        }
      const auto behind =
          caller != nullptr ? std::pair{caller->pc, caller->rbp} : std::pair{Address{0}, Address{0}};
      for (const Address entry : frame.handlers->hidden) {
        const bool first = place(entry).then.insert_or_assign(frame.rbp, behind).second;
        if (i > 0 && i < method && first) called_.emplace_back(entry, frame.rbp);
      }
    }
    if (frame.has_line) caller = &frame;
  }
  if (const Frame* const behind = caller_behind_code_without_lines(frames))
    stop_behind(behind->pc, behind->rbp);
  if (frames.size() < 2 || !frames[0].funclet) return;
  for (const Address address : resumes) place(address).stops.insert(frames[0].rbp);
  if (frames[1].handlers == nullptr) left_to_ = frames[1].pc;
}

void HandlerWatch::stop_behind(Address pc, Address rbp) {
  for (const Address line : next_lines_(pc)) place(line).stops.insert(rbp);
}

HandlerWatch::Place& HandlerWatch::place(Address address) {
  Place& place = places_[address];
  if (place.number == 0)
    place.number = plants_->plant(address);
  else
    plants_->enable(place.number, true);
  planted_ = true;
  return place;
}

bool HandlerWatch::hit(std::uint64_t thread, Address pc, Address rbp) {
  if (thread_ == 0 || thread != thread_) return false;
  const auto found = places_.find(pc);
  if (found == places_.end()) return false;
  if (found->second.stops.contains(rbp)) return true;
  if (const auto then = found->second.then.find(rbp); then != found->second.then.end()) {
    const auto [address, callers_rbp] = then->second;
    if (address != 0) stop_behind(address, callers_rbp);
    for (const Address line : lines_behind_(pc)) place(line).stops.insert(rbp);
  }
  return false;
}

} // namespace clr::lldb_plugin
