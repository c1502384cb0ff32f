#include "extension/commands/exception_text.h"

#include "core/memory/utf8.h"
#include "extension/lldb/output.h"
#include "extension/session/stack_walk.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
constexpr std::size_t max_message = 2000; // bytes; a longer message is cut

std::string exception_lines(const ExceptionReport& report) {
  const ManagedException& exception = report.exception;
  std::string out = fmt::format(
      "{} at {:#x}\n", printable(exception.type.value_or("exception of unknown type")), exception.object);
  if (exception.message)
    out += fmt::format("  message: {}\n", printable(cut_utf8(*exception.message, max_message)));
  if (exception.hresult)
    out += fmt::format("  HResult: {:#010x}\n", static_cast<std::uint32_t>(*exception.hresult));
  if (!report.trace.empty()) out += "  stack trace:\n";
  for (std::size_t i = 0; i < report.trace.size(); ++i) {
    out += fmt::format("    #{}: {}\n", i, printable(report.trace[i].text));
    if (report.trace[i].element.ends_foreign()) out += "    --- thrown again from here ---\n";
  }
  if (!exception.remote_trace.empty())
    out += fmt::format("  trace from elsewhere: {}\n", printable(exception.remote_trace));
  if (!exception.fault.empty()) out += fmt::format("  not known: {}\n", printable(exception.fault));
  return out;
}
} // namespace

ExceptionReporter exceptions_of(Session& session) {
  return {session.runtime(), session.stacks(),
          [&session](std::uint64_t os_id, const std::function<bool(const FrameRow&)>& visit) {
            lldb::SBThread thread = session.target().GetProcess().GetThreadByID(os_id);
            if (thread.IsValid())
              walk_stack(session, thread, {.runtime_frames = false, .lines = false}, visit);
          }};
}

std::string describe(const std::vector<ExceptionReport>& tree) {
  std::string out;
  // Inner exceptions of one that has several stand below it; a chain stays at its margin.
  std::vector<unsigned> margins; // by depth
  for (const ExceptionReport& report : tree) {
    margins.resize(report.depth);
    const unsigned margin = margins.empty() ? 0 : margins.back() + (report.of > 1 ? 1 : 0);
    margins.push_back(margin);
    std::string text;
    if (report.depth != 0)
      text = report.of > 1 ? fmt::format("inner exception {} of {}: ", report.number, report.of)
                           : std::string("inner exception: ");
    text += exception_lines(report);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin) + 1;
      out += std::string(std::size_t{2} * margin, ' ') + text.substr(begin, end - begin);
      begin = end;
    }
  }
  return out;
}

} // namespace clr::lldb_plugin
