// Managed exceptions as people read them.
#pragma once

#include "core/report/exception_report.h"
#include "extension/session/session.h"

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The exceptions of the selected process, which must have a runtime, with the instantiations that frames
// know. `session` must outlive it.
ExceptionReporter exceptions_of(Session& session);

// Type, message, HResult and stack trace of an exception and of its inner ones, several lines.
std::string describe(const std::vector<ExceptionReport>& tree);

} // namespace clr::lldb_plugin
