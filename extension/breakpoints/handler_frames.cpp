#include "extension/breakpoints/handler_frames.h"

#include "core/describe/called_methods.h"
#include "core/runtime/source_lines.h"
#include "extension/lldb/frame_line.h"

namespace clr::lldb_plugin {

namespace {
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

Address frame_pointer(lldb::SBFrame& frame) {
  lldb::SBValue value = frame.FindRegister("rbp");
  return value.IsValid() ? value.GetValueAsUnsigned(0) : 0;
}

std::vector<HandlerWatch::Frame> HandlerFrames::of(Session& session, lldb::SBThread& thread) {
  std::vector<HandlerWatch::Frame> frames;
  for (std::uint32_t i = 0; i < max_frames; ++i) {
    lldb::SBFrame known = thread.GetFrameAtIndex(i);
    if (!known.IsValid()) break;
    HandlerWatch::Frame frame{.pc = known.GetPC()};
    // The return address of a call that does not return lies behind its method.
    const CodeLookup found = session.runtime().code()->find(i == 0 ? frame.pc : frame.pc - 1);
    if (const auto* const block = std::get_if<CodeBlock>(&found)) {
      frame.rbp = frame_pointer(known);
      frame.has_line = has_line(known);
      frame.handlers = &handlers_of(session, *block);
      frame.funclet = is_funclet(session, *block);
      frame.returns_to_caller =
          i == 0 && !is_async_method(session.runtime(), session.runtime().describe(*block).method);
    }
    frames.push_back(frame);
  }
  return frames;
}

const HandlerEntries& HandlerFrames::handlers_of(Session& session, const CodeBlock& block) {
  Known& known = known_[block.start];
  if (known.method_desc == block.method_desc && known.code_header == block.code_header) return known.entries;
  known = {.method_desc = block.method_desc, .code_header = block.code_header, .entries = {}};
  try {
    for (const HandlerPlace& place : places_in(session.runtime(), block)) {
      if (place.line)
        known.entries.shown.push_back({.begin = place.entry, .line = *place.line});
      else
        known.entries.hidden.push_back(place.begin);
    }
  } catch (const Error&) {
    // Its other frames are followed.
  }
  return known.entries;
}

std::vector<ResumePlace> HandlerFrames::resumes(Session& session, Address pc) {
  try {
    Runtime& runtime = session.runtime();
    const CodeLookup found = runtime.code()->find(pc);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr) return {};
    return resume_places(*runtime.code(), runtime.target()->memory(), *block);
  } catch (const Error&) {
    return {}; // the step runs on behind the handler
  }
}

} // namespace clr::lldb_plugin
