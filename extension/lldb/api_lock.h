// LLDB's lock of a target. Each call of LLDB's API takes it and gives it back, but for a few.
#pragma once

#include "extension/lldb/entries.h"

#include <lldb/API/LLDB.h>

#include <functional>

namespace clr::lldb_plugin {

// Whoever holds the lock for more than one call lets a client wait in its next one. No version before 21
// hands it out, but all of them hold it while they ask for the text of a value: the text of a value of this
// one's runs an act.
class ApiLock {
public:
  // No type of a program has this name.
  static constexpr const char* type = "void ************";
  // What LLDB calls for the text of a value of that type.
  static SummaryEntry entry();

  explicit ApiLock(lldb::SBTarget target);
  // Calls `act` with the lock, as soon as this thread gets it. False: it was not called, because nobody has
  // registered entry() (a user may switch its category off), or it threw.
  bool hold(const std::function<void()>& act);

private:
  lldb::SBValue value_;
};

} // namespace clr::lldb_plugin
