// One thread of BlockedThreads while it is looked at. Only for the sources of this room.
#pragma once

#include "core/waits/blocked_threads.h"

#include <algorithm>

namespace clr {

constexpr std::string_view old_rwlock = "System.Threading.ReaderWriterLock.";

template<typename Range, typename Value>
bool is_among(const Range& range, const Value& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

struct BlockedThreads::Thread {
  const ThreadStack& stack;
  ThreadWait wait;
  // The frames with a name up to the first one of the user's, which is the last one here if there is one.
  std::vector<Named> named;
  // A frame above the user's code may be the framework's: it has no name, or could not be looked up.
  bool nameless = false;
  // It gives up the processor for a moment, and looks again.
  bool spins = false;

  // Whether a method of the framework whose name begins so stands above the user's code.
  bool calls(std::string_view prefix) const { return find(prefix) != nullptr; }
  const Named* find(std::string_view prefix) const {
    const auto found = std::ranges::find_if(
        named, [&](const Named& frame) { return frame.method.name.starts_with(prefix); });
    return found == named.end() || found->frame == wait.user_frame ? nullptr : &*found;
  }
};

} // namespace clr
