#include "extension/publish/publish_state.h"

namespace clr::lldb_plugin {

bool PublishState::wants_update(std::uint32_t stop, std::uint32_t modules, bool goes_on) const {
  if (stop_ == stop) return !complete_ && goes_on;
  return modules == 0 || modules_without_runtime_ != modules;
}

void PublishState::updated(std::uint32_t stop, bool complete, bool has_runtime, std::uint32_t modules) {
  begun_ = true;
  stop_ = stop;
  complete_ = complete;
  modules_without_runtime_.reset();
  if (!has_runtime) modules_without_runtime_ = modules;
}

void PublishState::added(bool complete) {
  begun_ = true;
  complete_ = complete_ && complete;
}

void PublishState::withdrawn() {
  stop_.reset();
  complete_ = true;
}

} // namespace clr::lldb_plugin
