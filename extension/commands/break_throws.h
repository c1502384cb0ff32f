// `clr break --exception`: breakpoints where exceptions are thrown.
#pragma once

#include "extension/commands/command.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

struct ThrowOptions {
  std::string type; // empty: every one
  std::string condition;
  bool one_shot = false, json = false;
};

// A breakpoint on what is thrown, which is told of. Throws Error. Cost: that of types_called when there is a
// runtime.
void break_at_throws(Invocation& invocation, lldb::SBTarget& target, const ThrowOptions& options);

// The process stops where nobody catches an exception. Throws Error{invalid_argument} for options that this
// does not take.
void stop_at_unhandled(Invocation& invocation, lldb::SBTarget& target, const ThrowOptions& options);

// What a breakpoint on exceptions of `type` means, for a list.
std::string throws_text(const std::string& type);

} // namespace clr::lldb_plugin
