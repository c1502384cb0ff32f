// LLDB drops the frames that it has when modules come and go, and with them the selected one.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>

namespace clr::lldb_plugin {

// As long as it lives modules of the target may change; then the frame is selected again that was, if it has
// the place that it had.
class KeptSelection {
public:
  explicit KeptSelection(lldb::SBTarget target);
  ~KeptSelection();
  KeptSelection(const KeptSelection&) = delete;
  KeptSelection& operator=(const KeptSelection&) = delete;

private:
  lldb::SBThread thread_;
  std::uint32_t frame_ = 0;
  std::uint64_t pc_ = 0;
};

} // namespace clr::lldb_plugin
