// Whether there is something to publish now.
#pragma once

#include <cstdint>
#include <optional>

namespace clr::lldb_plugin {

// Of one process. Stops are counted by the debugger.
class PublishState {
public:
  // Is an update worth it at this stop, when `modules` are loaded? Not when this stop was published whole,
  // nor when no module was loaded since there was no runtime. One that the user interrupted is continued when
  // `goes_on`.
  bool wants_update(std::uint32_t stop, std::uint32_t modules, bool goes_on = true) const;
  // An update was made.
  void updated(std::uint32_t stop, bool complete, bool has_runtime, std::uint32_t modules);
  // A part of the code was published beside updates.
  void added(bool complete);
  // All was taken away again.
  void withdrawn();

  // Something was asked for since the process is there.
  bool begun() const { return begun_; }
  // False when the user interrupted the last update: some code is not published.
  bool complete() const { return complete_; }

private:
  std::optional<std::uint32_t> stop_;
  std::optional<std::uint32_t> modules_without_runtime_;
  bool begun_ = false, complete_ = true;
};

} // namespace clr::lldb_plugin
