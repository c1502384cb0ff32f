#include "core/waits/monitor_locks.h"

namespace clr {

Address MonitorLocks::object_of(Address lock) {
  if (!blocks_->with_locks() || lock == 0) return 0;
  if (!read_) {
    read_ = true;
    for (const MonitorState& block : blocks_->all(problem_))
      if (block.lock != 0) objects_.emplace(block.lock, block.object);
  }
  const auto found = objects_.find(lock);
  return found == objects_.end() ? 0 : found->second;
}

} // namespace clr
