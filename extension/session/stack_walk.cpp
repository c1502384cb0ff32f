#include "extension/session/stack_walk.h"

#include "extension/lldb/newer_api.h"
#include "extension/lldb/stack.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace clr::lldb_plugin {

namespace {
// Frames between two questions whether the user wants to stop.
constexpr std::size_t frames_between_questions = 4'096;

FrameRow describe_frame(Session& session, lldb::SBFrame& frame, bool leaf) {
  FrameRow row;
  row.index = frame.GetFrameID();
  row.ip = frame.GetPC();
  row.sp = frame.GetSP();
  row.found_by = "lldb";
  // A return address may lie behind the last byte of its method.
  const std::uint64_t distance = leaf || row.ip == 0 ? 0 : 1;
  runtime::Answer answer = session.runtime().resolve(row.ip - distance);
  session.runtime().add_source(answer);
  if (auto* method = std::get_if<MethodAnswer>(&answer.result)) {
    row.kind = "managed";
    // The call was looked up, the return address is shown.
    if (method->code.offset) *method->code.offset += distance;
    row.answer = std::make_shared<const MethodAnswer>(std::move(*method));
    return row;
  }
  name_native_frame(session.target(), row, row.ip - distance);
  if (const auto* fault = std::get_if<FaultAnswer>(&answer.result))
    row.fault = fault->text;
  else if (row.symbol.empty() && row.module.empty())
    row.symbol = std::get<MissAnswer>(answer.result).text;
  return row;
}

// The stack as LLDB's own unwinder walks it, managed frames named by the runtime: for CPUs whose stacks the
// core does not walk. Returns why the walk ended, as ThreadRow::end.
std::string walk_with_lldb(Session& session, lldb::SBThread& thread, std::size_t limit,
                           const std::function<bool(const FrameRow&)>& visit) {
  for (std::size_t i = 0; i < limit; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(static_cast<std::uint32_t>(i));
    if (!frame.IsValid()) return i == 0 ? "LLDB has no frame of this thread" : "bottom";
    if (!visit(describe_frame(session, frame, i == 0))) return "interrupted";
  }
  return "limit";
}
} // namespace

ThreadRow describe_thread(Session& session, lldb::SBThread& thread, lldb::tid_t selected) {
  ThreadRow row;
  row.index = thread.GetIndexID();
  row.os_id = thread.GetThreadID();
  row.name = thread.GetName() == nullptr ? "" : thread.GetName();
  row.selected = row.os_id == selected;
  if (const RuntimeThread* known = session.stacks().thread_of(row.os_id)) {
    row.managed_id = known->managed_id;
    if (known->name) row.name = *known->name;
  }
  return row;
}

StackPlaces stack_places(Session& session, bool with_native, std::span<const lldb::tid_t> threads) {
  StackPlaces found;
  std::unordered_set<Address> places, repeated; // a recursion has few
  std::unordered_map<Address, std::size_t> times;
  std::map<Address, StackPlaces::Native> native; // by the address to look up
  lldb::SBProcess process = session.target().GetProcess();
  lldb::SBDebugger debugger = session.target().GetDebugger();
  std::size_t left = StackPlaces::max_steps, told = 0;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (!threads.empty() && std::ranges::find(threads, thread.GetThreadID()) == threads.end()) continue;
    const RegisterContext registers = session.registers(thread);
    if (!registers.pc() || !registers.sp()) {
      found.whole = false;
      continue;
    }
    found.positions.push_back(*registers.pc());
    if (left == 0) {
      found.cut = true;
      continue;
    }
    times.clear();
    std::size_t frames = 0, seen = 0;
    StackPlaces::Native* inner = nullptr; // of the frame before, when it is native
    Address inner_sp = 0;
    std::optional<Address> inner_fp;
    const stack::Walk walk =
        session.stacks().walk_frames(registers, thread.GetThreadID(), [&](const StackFrame& frame) {
          if (++told % frames_between_questions == 0 && interrupt_requested(debugger)) {
            found.interrupted = true;
            left = 0;
          }
          if (seen++ >= left) return false;
          if (frame.kind == StackFrameKind::runtime) return true;
          // A frame pointer may also be that of the caller, of which the code alone tells nothing.
          const bool of_caller = frame.found_by == FoundBy::frame_pointer && inner_fp == frame.registers.fp();
          if (inner != nullptr && (frame.found_by == FoundBy::runtime_frame || of_caller)) {
            if (inner->jumps.size() < max_frame_jumps)
              inner->jumps.push_back({.sp = inner_sp, .caller = frame.registers});
          } else if (inner != nullptr && inner->caller == FoundBy::context) {
            inner->caller = frame.found_by;
          }
          inner = nullptr;
          if (!frame.code && !frame.stub) {
            if (!with_native) return true;
            if (native.size() >= StackPlaces::max_native) {
              found.native_whole = found.native_whole && native.contains(frame.lookup_pc());
              return true;
            }
            inner = &native.try_emplace(frame.lookup_pc(), StackPlaces::Native{frame.pc(), frame.leaf})
                         .first->second;
            inner_sp = frame.sp();
            inner_fp = frame.registers.fp();
            return true;
          }
          ++times[frame.lookup_pc()];
          ++frames;
          return true;
        });
    if (inner != nullptr && (walk.end == WalkEnd::bottom || walk.end == WalkEnd::failed)) inner->last = true;
    for (const auto& [place, count] : times) {
      places.insert(place);
      if (frames >= StackPlaces::deep && count >= StackPlaces::often) repeated.insert(place);
    }
    left -= std::min(left, walk.steps);
    if (walk.end == WalkEnd::stopped)
      found.cut = true;
    else
      found.whole = found.whole && walk.end == WalkEnd::bottom;
  }
  for (const auto& [lookup, place] : native) found.native.push_back(place);
  found.places.assign(places.begin(), places.end());
  found.repeated.assign(repeated.begin(), repeated.end());
  std::ranges::sort(found.places);
  return found;
}

StackReporter::End walk_stack(Session& session, lldb::SBThread& thread, const StackReporter::Options& options,
                              const std::function<bool(const FrameRow&)>& visit) {
  const RegisterContext registers = session.registers(thread);
  if (registers.pc() && registers.sp())
    return session.stacks().walk(registers, thread.GetThreadID(), options, visit);
  return {walk_with_lldb(session, thread, options.max_frames, visit), {}};
}

} // namespace clr::lldb_plugin
