#include "extension/process/async_frames.h"

#include "core/memory/utf8.h"
#include "core/runtime/async_report.h"
#include "extension/session/stack_walk.h"

namespace clr::lldb_plugin {
namespace {

void add(std::vector<AddedFrame>& frames, const AsyncStack& chain, std::size_t first, std::size_t& left) {
  for (std::size_t i = first; i < chain.frames.size() && frames.size() < max_added_frames && left > 0; ++i) {
    const AwaitPosition& position = *chain.frames[i].position;
    // LLDB prints both as they are.
    AddedFrame frame{.name = printable(position.method->shown_name()) + " [awaiting]", .file = {}};
    if (position.source) {
      frame.file = printable(position.source->file);
      frame.line = position.source->line;
    }
    frames.push_back(std::move(frame));
    --left;
  }
}

} // namespace

std::vector<AddedFrames> async_frames(Session& session) {
  std::vector<AddedFrames> all;
  AsyncReporter reporter(session.waits());
  reporter.set_threads(session.thread_tops());
  reporter.set_stacks(session.stacks());
  lldb::SBProcess process = session.target().GetProcess();
  std::size_t left = max_all_added_frames;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    std::vector<FrameRow> rows;
    walk_stack(session, thread, {.lines = false}, [&](const FrameRow& row) {
      rows.push_back(row);
      return true;
    });
    const AsyncBeside beside = reporter.beside({thread.GetThreadID(), session.registers(thread)}, rows, {});
    AddedFrames added{.thread = thread.GetThreadID(), .frames = {}};
    // The first frame of such a chain is on the stack.
    for (const AsyncBeside::Callers& callers : beside.callers)
      for (const AsyncStack& chain : callers.chains) add(added.frames, chain, 1, left);
    for (const AsyncStack& chain : beside.waits_for) add(added.frames, chain, 0, left);
    if (!added.frames.empty()) all.push_back(std::move(added));
  }
  return all;
}

} // namespace clr::lldb_plugin
