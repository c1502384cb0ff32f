#include "extension/breakpoints/handler_stops.h"

#include "core/describe/exception_handlers.h"
#include "core/runtime/source_lines.h"
#include "extension/lldb/hidden_breakpoints.h"

#include <exception>
#include <utility>

namespace clr::lldb_plugin {

namespace {
lldb::addr_t frame_pointer(lldb::SBFrame& frame) {
  lldb::SBValue value = frame.FindRegister("rbp");
  return value.IsValid() ? value.GetValueAsUnsigned(0) : 0;
}

bool is_funclet(Session& session, const CodeBlock& block) {
  try {
    return session.runtime().code()->is_funclet(block);
  } catch (const Error&) {
    return false;
  }
}

std::vector<HandlerPlace> places_in(Runtime& runtime, const CodeBlock& block) {
  if (runtime.lines() == nullptr) return {};
  const Method method = runtime.describe(block.method_desc);
  const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
  // Methods without lines are the framework's: exceptions come through them, and nobody steps there.
  if (pdb == nullptr || method.token == 0) return {};
  return handler_places(*runtime.code(), block, *runtime.lines()->debug_info().il_map(block),
                        pdb->sequence_points(method.token));
}
} // namespace

HandlerStops::~HandlerStops() {
  if (!target_.IsValid()) return;
  for (auto& [address, place] : places_)
    if (place.breakpoint.IsValid()) target_.BreakpointDelete(place.breakpoint.GetID());
}

void HandlerStops::disarm() {
  thread_ = 0;
  left_to_ = 0;
  if (!std::exchange(planted_, false)) return;
  for (auto& [address, place] : places_) {
    place.breakpoint.SetEnabled(false);
    place.stops.clear();
    place.then.clear();
  }
}

bool HandlerStops::goes_on(lldb::SBThread thread) {
  if (thread_ == 0 || thread.GetThreadID() != thread_ || left_to_ == 0) return false;
  return thread.GetFrameAtIndex(0).GetPC() == std::exchange(left_to_, 0);
}

void HandlerStops::arm(Session& session, lldb::SBThread thread, bool out) {
  disarm();
  Runtime& runtime = session.runtime();
  // Funclets are told from their parents by rbp, and places of resumption by the x64 code that names them.
  if (runtime.absence() != nullptr || runtime.platform().cpu != Cpu::x64) return;
  thread_ = thread.GetThreadID();
  if (places_.size() > max_places) {
    for (auto& [address, place] : places_) target_.BreakpointDelete(place.breakpoint.GetID());
    places_.clear();
    handlers_.clear();
  }
  const std::vector<Frame> frames = frames_of(session, thread);
  const Frame* caller = nullptr; // the next one outward that has a line
  for (std::size_t i = frames.size(); i-- > (out ? 1u : 0u);) {
    const Frame& frame = frames[i];
    if (frame.handlers != nullptr) {
      for (const Address entry : frame.handlers->shown) place(entry).stops.insert(frame.rbp);
      if (caller != nullptr)
        for (const Address entry : frame.handlers->hidden)
          place(entry).then[frame.rbp] = {caller->pc, caller->rbp};
    }
    if (frame.has_line) caller = &frame;
  }
  if (frames.size() < 2 || !frames[0].funclet) return;
  add_resume_places(session, frames[0]);
  if (frames[1].handlers == nullptr) left_to_ = frames[1].pc;
}

std::vector<HandlerStops::Frame> HandlerStops::frames_of(Session& session, lldb::SBThread& thread) {
  std::vector<Frame> frames;
  for (std::uint32_t i = 0; i < max_frames; ++i) {
    lldb::SBFrame known = thread.GetFrameAtIndex(i);
    if (!known.IsValid()) break;
    Frame frame{.pc = known.GetPC()};
    // The return address of a call that does not return lies behind its method.
    const CodeLookup found = session.runtime().code()->find(i == 0 ? frame.pc : frame.pc - 1);
    if (const auto* const block = std::get_if<CodeBlock>(&found)) {
      frame.rbp = frame_pointer(known);
      lldb::SBLineEntry line = known.GetLineEntry();
      frame.has_line = line.IsValid() && line.GetLine() != 0;
      frame.handlers = &handlers_of(session, *block);
      frame.funclet = is_funclet(session, *block);
    }
    frames.push_back(frame);
  }
  return frames;
}

const HandlerStops::Handlers& HandlerStops::handlers_of(Session& session, const CodeBlock& block) {
  Handlers& known = handlers_[block.start];
  if (known.method_desc == block.method_desc && known.code_header == block.code_header) return known;
  known = {.method_desc = block.method_desc, .code_header = block.code_header, .shown = {}, .hidden = {}};
  try {
    for (const HandlerPlace& place : places_in(session.runtime(), block)) {
      if (place.line)
        known.shown.push_back(*place.line);
      else
        known.hidden.push_back(place.begin);
    }
  } catch (const Error&) {
    // Its other frames are followed.
  }
  return known;
}

HandlerStops::Place& HandlerStops::place(Address address) {
  Place& place = places_[address];
  if (!place.breakpoint.IsValid()) {
    place.breakpoint = target_.BreakpointCreateByAddress(address);
    hide(target_, place.breakpoint, Hidden::asked);
    place.breakpoint.SetCallback(&HandlerStops::on_hit, this);
  }
  place.breakpoint.SetEnabled(true);
  planted_ = true;
  return place;
}

void HandlerStops::add_resume_places(Session& session, const Frame& frame) {
  if (frame.handlers == nullptr) return;
  try {
    Runtime& runtime = session.runtime();
    const CodeLookup found = runtime.code()->find(frame.pc);
    for (const Address resumes :
         resume_places(*runtime.code(), runtime.target()->memory(), std::get<CodeBlock>(found)))
      place(resumes).stops.insert(frame.rbp);
  } catch (const Error&) {
    // The step runs on behind the handler.
  }
}

bool HandlerStops::on_hit(void* self, lldb::SBProcess&, lldb::SBThread& thread, lldb::SBBreakpointLocation&) {
  // LLDB is built without exceptions.
  try {
    return static_cast<HandlerStops*>(self)->hit(thread);
  } catch (const std::exception&) {
    return true;
  }
}

bool HandlerStops::hit(lldb::SBThread& thread) {
  if (thread_ == 0 || thread.GetThreadID() != thread_) return false;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  const auto found = places_.find(frame.GetPC());
  if (found == places_.end()) return false;
  const lldb::addr_t rbp = frame_pointer(frame);
  if (found->second.stops.contains(rbp)) return true;
  if (const auto then = found->second.then.find(rbp); then != found->second.then.end()) {
    const auto [address, callers_rbp] = then->second;
    place(address).stops.insert(callers_rbp);
  }
  return false;
}

} // namespace clr::lldb_plugin
