// The locks of objects that the runtime keeps as objects of System.Threading.Lock: .NET 11 makes one when a
// thread waits for the lock of an object, or waits to be told by it. Source: dotnet/runtime
// src/coreclr/System.Private.CoreLib/src/System/Threading/ObjectHeader.CoreCLR.cs; looked at in 11.0.0.
#pragma once

#include "core/waits/lock_words.h"

#include <string>
#include <unordered_map>

namespace clr {

class MonitorLocks {
public:
  // `blocks` must outlive this. No reads.
  explicit MonitorLocks(const SyncBlocks& blocks) : blocks_(&blocks) {}

  // The object that a System.Threading.Lock locks; 0 when it is a lock of its own, as all are before .NET 11.
  // Never throws. Cost: the first time that of SyncBlocks::all, where it has to ask; then none.
  Address object_of(Address lock);

  // Why an object may not have been found.
  const std::string& problem() const { return problem_; }

private:
  const SyncBlocks* blocks_;
  bool read_ = false;
  std::unordered_map<Address, Address> objects_; // by lock
  std::string problem_;
};

} // namespace clr
