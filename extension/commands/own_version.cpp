#include "extension/commands/own_version.h"

#include "generated/clr_commit.h"

#include <fmt/format.h>

#include <string_view>

namespace clr::lldb_plugin {

std::string own_version() {
  constexpr std::string_view commit = CLR_PROJECT_COMMIT;
  return fmt::format("lldb-clr {}{}", CLR_PROJECT_VERSION,
                     commit.empty() ? "" : fmt::format(" (commit {})", commit));
}

} // namespace clr::lldb_plugin
