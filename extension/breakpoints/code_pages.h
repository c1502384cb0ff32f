// Jitted code that breakpoints can be written to. By default .NET maps its code shared and not writable
// (W^X), and then no debugger can.
#pragma once

#include "core/memory/platform.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <string>
#include <vector>

namespace clr::lldb_plugin {

struct CodeSpan {
  Address begin = 0, end = 0;
};

// The memory that the runtime takes jitted code from.
std::vector<CodeSpan> code_heaps(Session& session);

class CodePages {
public:
  explicit CodePages(lldb::SBTarget target) : target_(std::move(target)) {}

  // The outcome of a wish.
  struct Outcome {
    std::size_t spans = 0; // mappings that were made writable now
    std::string problem;   // why some are not; empty when all are
    bool passing = false;  // the problem is one of this stop only
  };

  // Makes the pages of `wanted` writable where they are executable and are not: a call of mprotect in the
  // process, which `thread` (or another one that is fit for it) makes while the others stand still. Runs code
  // in the process only when there is such a page. Never throws. Cost: a look at the memory map for each
  // mapping, some 10 ms for the call.
  Outcome make_writable(const std::vector<CodeSpan>& wanted, lldb::SBThread thread);

  // Gives the pages back the protection that they had: before the debugger leaves the process, and behind the
  // last write to them. `thread` as above. Never throws.
  void restore(lldb::SBThread thread);
  // Some page is writable because of make_writable().
  bool changed() const { return !changed_.empty(); }

  // Advice for the user whose code stays as it is.
  static constexpr const char* advice = "start the program with DOTNET_EnableWriteXorExecute=0";

private:
  std::vector<CodeSpan> not_writable(const std::vector<CodeSpan>& wanted);
  lldb::addr_t mprotect_address();
  // Of `spans`, by calls of `thread`: the problem, or nothing.
  std::string protect(const std::vector<CodeSpan>& spans, int protection, lldb::SBThread& thread);

  lldb::SBTarget target_;
  lldb::addr_t mprotect_ = 0;
  std::vector<CodeSpan> changed_;
};

} // namespace clr::lldb_plugin
