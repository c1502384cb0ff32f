// Errors of LLDB's as texts.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// The text of `error`, in one line without "error: "; empty when it says nothing. An expression's
// error is several lines long, and since LLDB 22 the first one only tells the language that was tried.
std::string error_line(const lldb::SBError& error);

} // namespace clr::lldb_plugin
