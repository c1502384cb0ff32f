#include "extension/publish/publish_state.h"

#include <algorithm>

namespace clr::lldb_plugin {

bool PublishState::wants_update(PublishLevel level, std::uint32_t stop, std::uint32_t modules,
                                std::span<const std::uint64_t> threads) const {
  const bool reached =
      level < level_ ||
      (level == level_ && (level != PublishLevel::stack || std::ranges::includes(threads_, threads)));
  if (stop_ == stop && (reached || modules_without_runtime_ == modules)) return !complete_;
  return modules == 0 || modules_without_runtime_ != modules;
}

void PublishState::updated(PublishLevel level, std::uint32_t stop, bool complete, bool has_runtime,
                           std::uint32_t modules, std::span<const std::uint64_t> threads) {
  begun_ = true;
  if (stop_ != stop || level_ != PublishLevel::stack) threads_.clear();
  if (level == PublishLevel::stack) threads_.insert(threads.begin(), threads.end());
  stop_ = stop;
  level_ = level;
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
