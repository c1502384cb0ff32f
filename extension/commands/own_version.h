// Which plugin this is.
#pragma once

#include <string>

namespace clr::lldb_plugin {

// "lldb-clr 0.1.0 (commit 83e24d3)"; without the commit when the build did not know it.
std::string own_version();

} // namespace clr::lldb_plugin
