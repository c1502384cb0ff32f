// The locks of one stop, with the heap that they are looked for in.
#pragma once

#include "capi/inspection.h"
#include "core/runtime/lock_report.h"
#include "core/runtime/wait_objects.h"
#include "core/waits/async_stacks.h"

#include <optional>
#include <vector>

namespace clr::capi {

class Locks {
public:
  // Throws Error when the process has no runtime. No reads.
  explicit Locks(Inspection& inspection);

  LockReporter* operator->() { return &reporter_; }
  LockReporter& operator*() { return reporter_; }
  // Throw as HeapReporter does.
  HeapReporter& heap();
  WaitObjects& objects();

private:
  std::vector<LockReporter::ThreadStart> threads() const;

  Inspection* inspection_;
  Runtime* runtime_;
  std::optional<HeapReporter> heap_;
  std::optional<WaitObjects> objects_;
  LockReporter reporter_;
};

// Where the threads stand: those whose registers are known.
std::vector<ThreadTop> thread_tops(Inspection& inspection);

} // namespace clr::capi
