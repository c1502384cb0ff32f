#include "extension/lldb/notice.h"

#include "extension/lldb/output.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

void write_text(lldb::SBFile to, std::string_view text) {
  if (!to.IsValid()) return;
  std::size_t written = 0;
  to.Write(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), &written);
  to.Flush();
}

void notice(lldb::SBDebugger debugger, std::string_view text) {
  write_text(debugger.GetErrorFile(), fmt::format("lldb-clr: {}\n", printable(text)));
}

} // namespace clr::lldb_plugin
