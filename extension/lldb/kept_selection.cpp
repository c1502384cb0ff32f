#include "extension/lldb/kept_selection.h"

namespace clr::lldb_plugin {

KeptSelection::KeptSelection(lldb::SBTarget target) : thread_(target.GetProcess().GetSelectedThread()) {
  if (!thread_.IsValid()) return;
  lldb::SBFrame frame = thread_.GetSelectedFrame();
  if (!frame.IsValid()) return;
  frame_ = frame.GetFrameID();
  pc_ = frame.GetPC();
}

KeptSelection::~KeptSelection() {
  // The innermost one is selected by itself.
  if (frame_ == 0 || !thread_.IsValid()) return;
  if (thread_.GetFrameAtIndex(frame_).GetPC() == pc_) thread_.SetSelectedFrame(frame_);
}

} // namespace clr::lldb_plugin
