#include "extension/lldb/notice.h"

#include "extension/lldb/output.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

void notice(lldb::SBDebugger debugger, std::string_view text) {
  lldb::SBFile errors = debugger.GetErrorFile();
  if (!errors.IsValid()) return;
  const std::string line = fmt::format("lldb-clr: {}\n", printable(text));
  std::size_t written = 0;
  errors.Write(reinterpret_cast<const std::uint8_t*>(line.data()), line.size(), &written);
  errors.Flush();
}

} // namespace clr::lldb_plugin
