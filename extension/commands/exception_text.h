// Managed exceptions as people read them.
#pragma once

#include "core/report/exception_report.h"

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// Type, message, HResult and stack trace of an exception and of its inner ones, several lines.
std::string describe(const std::vector<ExceptionReport>& tree);

} // namespace clr::lldb_plugin
