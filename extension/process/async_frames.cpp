#include "extension/process/async_frames.h"

#include "core/memory/utf8.h"
#include "core/runtime/async_report.h"
#include "extension/lldb/newer_api.h"
#include "extension/session/stack_walk.h"

namespace clr::lldb_plugin {
namespace {

constexpr std::size_t rows_between_questions = 4'096; // whether the user wants to stop
constexpr const char* left_out = "[more async methods may wait: clrbt --async shows them]";

// False: there is no room for all of the chain.
bool add(std::vector<AddedFrame>& frames, const AsyncStack& chain, std::size_t first, std::size_t& left) {
  for (std::size_t i = first; i < chain.frames.size(); ++i) {
    if (frames.size() >= max_added_frames || left == 0) return false;
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
  return true;
}

} // namespace

std::vector<AddedFrames> async_frames(Session& session) {
  std::vector<AddedFrames> all;
  AsyncReporter reporter(session.waits());
  reporter.set_threads(session.thread_tops());
  reporter.set_stacks(session.stacks());
  lldb::SBProcess process = session.target().GetProcess();
  lldb::SBDebugger debugger = session.target().GetDebugger();
  std::size_t left = max_all_added_frames, rows_left = StackPlaces::max_steps;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (rows_left == 0 || left == 0) {
      all.push_back({.thread = thread.GetThreadID(), .frames = {{.name = left_out, .file = {}}}});
      continue;
    }
    std::vector<FrameRow> rows;
    walk_stack(session, thread, {.max_frames = rows_left, .lines = false}, [&](const FrameRow& row) {
      if (row.answer) rows.push_back(row);
      if (--rows_left % rows_between_questions == 0 && interrupt_requested(debugger)) rows_left = 0;
      return rows_left > 0;
    });
    const AsyncBeside beside = reporter.beside({thread.GetThreadID(), session.registers(thread)}, rows, {});
    AddedFrames added{.thread = thread.GetThreadID(), .frames = {}};
    bool whole = rows_left > 0;
    // The first frame of such a chain is on the stack.
    for (const AsyncBeside::Callers& callers : beside.callers)
      for (const AsyncStack& chain : callers.chains) whole = add(added.frames, chain, 1, left) && whole;
    for (const AsyncStack& chain : beside.waits_for) whole = add(added.frames, chain, 0, left) && whole;
    if (!whole) added.frames.push_back({.name = left_out, .file = {}});
    if (!added.frames.empty()) all.push_back(std::move(added));
  }
  return all;
}

} // namespace clr::lldb_plugin
