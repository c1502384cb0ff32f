// The frames of a thread that steps, with the exception handlers of their methods.
#pragma once

#include "core/describe/exception_handlers.h"
#include "extension/breakpoints/handler_watch.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <map>
#include <vector>

namespace clr::lldb_plugin {

class HandlerFrames {
public:
  // The frames of `thread`, innermost first; their handlers are valid until forget(). Cost: max_frames frames
  // are unwound; that of handler_places for each method that is new.
  std::vector<HandlerWatch::Frame> of(Session& session, lldb::SBThread& thread);
  // Where the catch handler that has code at `pc` goes on; nothing when that cannot be told.
  static std::vector<ResumePlace> resumes(Session& session, Address pc);
  void forget() { known_.clear(); }

  static constexpr std::uint32_t max_frames = 128;

private:
  struct Known {
    Address method_desc = 0, code_header = 0; // whose they are
    HandlerEntries entries;
  };
  const HandlerEntries& handlers_of(Session& session, const CodeBlock& block);

  std::map<Address, Known> known_; // by start of the body
};

// The register that tells frames apart.
Address frame_pointer(lldb::SBFrame& frame);

} // namespace clr::lldb_plugin
