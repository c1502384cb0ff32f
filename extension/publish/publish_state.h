// Whether there is something to publish now.
#pragma once

#include "extension/publish/publish_level.h"

#include <cstdint>
#include <optional>
#include <set>
#include <span>

namespace clr::lldb_plugin {

// Of one process. Stops are counted by the debugger.
class PublishState {
public:
  // Is an update to `level` worth it at this stop, when `modules` are loaded? Not when this stop was
  // published to it, nor when no module was loaded since there was no runtime. One that the user interrupted
  // is continued. `threads`: those of level `stack`.
  bool wants_update(PublishLevel level, std::uint32_t stop, std::uint32_t modules,
                    std::span<const std::uint64_t> threads = {}) const;
  // An update was made, and reached `level`.
  void updated(PublishLevel level, std::uint32_t stop, bool complete, bool has_runtime, std::uint32_t modules,
               std::span<const std::uint64_t> threads = {});
  // A part of the code was published beside updates.
  void added(bool complete);
  // All was taken away again.
  void withdrawn();
  // The user chose otherwise: what was done for this stop is to be looked at again.
  void reconsidered() { stop_.reset(); }
  // The level that was reached at `stop`.
  PublishLevel level_at(std::uint32_t stop) const { return stop_ == stop ? level_ : PublishLevel::nothing; }

  // Something was asked for since the process is there.
  bool begun() const { return begun_; }
  // False when the user interrupted the last update: some code is not published.
  bool complete() const { return complete_; }

private:
  std::optional<std::uint32_t> stop_;
  PublishLevel level_ = PublishLevel::nothing; // of that stop
  std::set<std::uint64_t> threads_;            // whose stacks are published at level `stack`
  std::optional<std::uint32_t> modules_without_runtime_;
  bool begun_ = false, complete_ = true;
};

} // namespace clr::lldb_plugin
