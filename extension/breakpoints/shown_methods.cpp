// Code that LLDB is told of while the process stands for a moment: of methods that breakpoints and steps wait
// for.
#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/lldb/newer_api.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace clr::lldb_plugin {

void ManagedBreakpoints::at_compiled(lldb::SBThread& thread, Address start) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  const std::shared_ptr<Session> session = sessions_->after_short_run();
  if (session->runtime().absence() == nullptr) {
    steps_->compiled(thread, start);
    publish_compiled(*session, thread, start);
    if (!notifications_.waits_to_hear()) publish_new_images(*session);
  }
  compile_milliseconds_ += std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

// Code of an image that was loaded since the last look is there without being compiled.
void ManagedBreakpoints::publish_new_images(Session& session) {
  if (!breakpoints_.waiting() || !publishing_->settings().r2r) return;
  const auto images = static_cast<std::size_t>(
      std::ranges::count_if(session.runtime().code()->sections(),
                            [](const RangeSection& section) { return section.r2r_module != 0; }));
  if (std::exchange(images_, images) == images) return;
  publish_asked(session);
  shown_at_ = std::chrono::steady_clock::now();
}

void ManagedBreakpoints::publish_compiled(Session& session, lldb::SBThread& thread, Address start) {
  Runtime& runtime = session.runtime();
  const CodeLookup found = runtime.code()->find(start);
  const auto* block = std::get_if<CodeBlock>(&found);
  if (block == nullptr) return;
  const Method method = runtime.describe(block->method_desc);
  // The runtime uses the MethodDesc of a dynamic method again for another one.
  if (method.kind == MethodKind::dynamic || !breakpoints_.concern(session, method)) return;
  show_code(session, start, thread);
}

void ManagedBreakpoints::show_code(Session& session, Address at, lldb::SBThread& thread) {
  const CodeLookup found = session.runtime().code()->find(at);
  const auto* block = std::get_if<CodeBlock>(&found);
  if (block == nullptr) return;
  const MethodRegions regions = session.runtime().code()->regions(*block);
  // Before LLDB learns of the code: it plants the breakpoints in it at once.
  make_writable({{regions.hot_start, regions.hot_start + regions.hot_size}}, thread);
  publishing_->add(session, at);
  breakpoints_.drop_wrong_lines(session, *publishing_);
  conditions_.foresee();
  shown_at_ = std::chrono::steady_clock::now();
}

void ManagedBreakpoints::prepare_lines() {
  if (!is_stopped_process(target_) || !publishing_->settings().on) return;
  const bool any = std::ranges::any_of(breakpoints_.wishes(), [](const BreakpointWish& wish) {
    return wish.kind == BreakpointWish::Kind::line && !is_native_source(wish.file);
  });
  if (!any) return;
  const std::shared_ptr<Session> session = sessions_->after_short_run();
  if (session->runtime().absence() == nullptr)
    make_writable(code_heaps(*session), target_.GetProcess().GetSelectedThread());
}

void ManagedBreakpoints::publish_asked(Session& session) {
  prepare_lines();
  const std::optional<AskedCode> asked = breakpoints_.asked_last();
  if (!asked || !publishing_->add_asked(session, *asked)) publishing_->update();
  breakpoints_.drop_wrong_lines(session, *publishing_);
  conditions_.foresee();
  plant_pending();
  lldb::SBDebugger debugger = target_.GetDebugger();
  asked_owed_ = interrupt_requested(debugger);
}

} // namespace clr::lldb_plugin
