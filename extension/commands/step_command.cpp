// clr step: into the method that a call enters, through the runtime's stubs.
#include "core/runtime/presence.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/commands/command.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/own_command.h"
#include "extension/lldb/short_run.h"
#include "extension/lldb/step_settings.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

namespace {

// Limit of the single steps of one command. A line with a loop, a stub, and the way through the runtime and
// back all have to fit.
constexpr unsigned max_steps = 20'000;
// Limit of the single steps in a helper of the runtime that managed code called; after these it is stepped
// out of.
constexpr unsigned max_helper_steps = 400;

// While this lives, exceptions are followed: a call that is stepped over may throw and never return.
class Following {
public:
  Following(std::shared_ptr<DebuggedProcess> process, lldb::SBThread thread) : process_(std::move(process)) {
    process_->breakpoints().steps().follow_exceptions(std::move(thread));
  }
  ~Following() { process_->breakpoints().steps().end_following(); }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

private:
  std::shared_ptr<DebuggedProcess> process_;
};

struct Position {
  Address pc = 0, sp = 0;
  bool managed = false;   // a method's body
  bool own_lines = false; // with lines
  bool stub = false;      // the runtime's, or code that it made beside methods
  Address method = 0;     // start of the body
  std::uint32_t line = 0;
};

class Stepper {
public:
  Stepper(Invocation& invocation, lldb::SBTarget target, lldb::SBThread thread)
      : invocation_(invocation), target_(target), thread_(thread), begin_(position()) {}

  // Steps until another line of the method, a line of a method that it calls, or its caller.
  void run() {
    if (!begin_.managed)
      throw Error(ErrorKind::invalid_argument,
                  "the selected thread is not in managed code; LLDB's own `step` steps there");
    Position at = begin_;
    for (unsigned steps = 0; steps < max_steps; ++steps) {
      if (invocation_.out.interrupted()) return;
      const Position before = at;
      step(before);
      if (!stands()) return; // a breakpoint, a signal, an exit
      at = position();
      if (at.managed && at.method == begin_.method && at.sp >= begin_.sp) {
        if (at.line != 0 && at.line != begin_.line && is_statement(at)) return;
        continue;
      }
      if (at.sp > begin_.sp) { // returned
        if (at.managed) return;
        continue;
      }
      if (at.managed && enter(at)) return;
      if (!at.managed && !at.stub && before.managed) leave_helper(at);
      if (!stands()) return;
      at = position();
    }
    invocation_.out.warning(fmt::format("no other line after {} instructions", max_steps));
  }

private:
  // In the runtime's own code only calls are stepped over: they look for the method that is to be entered.
  // The jump at the end enters that method, and LLDB would step over it as over a call.
  void step(const Position& at) { thread_.StepInstruction(!at.managed && !at.stub && stands_at_call()); }

  bool stands_at_call() {
    lldb::SBInstructionList read = target_.ReadInstructions(thread_.GetFrameAtIndex(0).GetPCAddress(), 1);
    if (read.GetSize() == 0) return false;
    const char* name = read.GetInstructionAtIndex(0).GetMnemonic(target_);
    const std::string_view mnemonic = name != nullptr ? name : "";
    return mnemonic.starts_with("call") || mnemonic == "bl" || mnemonic.starts_with("blr");
  }

  bool stands() {
    lldb::SBProcess process = target_.GetProcess();
    if (process.GetState() != lldb::eStateStopped) return false;
    const lldb::StopReason reason = thread_.GetStopReason();
    return reason == lldb::eStopReasonTrace || reason == lldb::eStopReasonPlanComplete ||
           reason == lldb::eStopReasonNone;
  }

  Position position() {
    Position at;
    lldb::SBFrame frame = thread_.GetFrameAtIndex(0);
    at.pc = frame.GetPC();
    at.sp = frame.GetSP();
    const std::shared_ptr<DebuggedProcess> process = invocation_.process(target_);
    const std::shared_ptr<Session> session = process->sessions().after_short_run();
    Runtime& runtime = session->runtime();
    if (runtime.absence() != nullptr || runtime.module_at(at.pc) != nullptr) return at;
    const CodeLookup found = runtime.code()->find(at.pc);
    if (const auto* block = std::get_if<CodeBlock>(&found)) {
      at.managed = true;
      at.method = block->start;
      process->publishing().add(*session, block->start);
      // The frame is asked for again: LLDB's answers from before the code was published are out of date.
      lldb::SBFrame known = thread_.GetFrameAtIndex(0);
      lldb::SBLineEntry line = known.GetLineEntry();
      at.line = line.IsValid() ? line.GetLine() : 0;
      at.own_lines = known.GetFunction().IsValid() && at.line != 0;
    } else {
      at.stub = true;
    }
    return at;
  }

  bool is_statement(const Position& at) {
    lldb::SBLineEntry line = thread_.GetFrameAtIndex(0).GetLineEntry();
    return line.GetStartAddress().GetLoadAddress(target_) == at.pc;
  }

  // Enters a method that was called. True when it has source, so that the user can stop here; else it is left
  // again. Stubs that are methods (of delegates, of generics) are gone through.
  bool enter(const Position& at) {
    const std::shared_ptr<Session> session = invocation_.process(target_)->sessions().after_short_run();
    const runtime::Answer answer = session->runtime().resolve(at.pc);
    const auto* method = std::get_if<MethodAnswer>(&answer.result);
    if (method != nullptr && method->method.kind == MethodKind::il_stub) return false;
    lldb::SBFunction function = thread_.GetFrameAtIndex(0).GetFunction();
    const bool goes_over = method != nullptr && steps_over_properties(invocation_.debugger) &&
                           is_property_or_operator(method->method.name);
    if (!at.own_lines || !function.IsValid() || goes_over) {
      if (at.pc == at.method) leave(at.sp);
      return false;
    }
    const Address start = function.GetStartAddress().GetLoadAddress(target_);
    run_to(start + function.GetPrologueByteSize(), at);
    return true;
  }

  void leave_helper(const Position& at) {
    Position now = at;
    for (unsigned steps = 0; steps < max_helper_steps; ++steps) {
      step(now);
      if (!stands()) return;
      now = position();
      if (now.managed || now.stub) return; // back, or on to the method
    }
    leave(at.sp);
  }

  // Runs until the function that was just entered, whose return address is at the top of the stack, returns.
  void leave(Address) {
    invocation_.process(target_)->breakpoints().prepare_step();
    thread_.StepOut();
  }

  void run_to(Address end, const Position& at) {
    constexpr unsigned max_prologue_steps = 2'000; // one that clears a large frame in a loop
    for (unsigned steps = 0; steps < max_prologue_steps; ++steps) {
      lldb::SBFrame frame = thread_.GetFrameAtIndex(0);
      if (frame.GetPC() >= end || frame.GetPC() < at.method) return;
      thread_.StepInstruction(true);
      if (!stands()) return;
    }
  }

  Invocation& invocation_;
  lldb::SBTarget target_;
  lldb::SBThread thread_;
  Position begin_;
};

class Step final : public CommandRun {
public:
  explicit Step(CLI::App&) {}

  void run(Invocation& invocation) override {
    require_runtime(invocation.session().runtime());
    lldb::SBTarget target = invocation.debugger.GetSelectedTarget();
    lldb::SBProcess stopped = target.GetProcess();
    if (is_core(stopped)) throw Error(ErrorKind::invalid_argument, "a core does not run: there are no steps");
    lldb::SBThread thread = stopped.GetSelectedThread();
    if (!thread.IsValid()) throw Error(ErrorKind::invalid_argument, "no thread is selected");
    const std::shared_ptr<DebuggedProcess> process = invocation.process(target);
    process->publishing().update();
    process->breakpoints().prepare_step();
    {
      const Following following(process, thread);
      const Synchronous synchronous(invocation.debugger);
      Stepper(invocation, target, thread).run();
    }
    show(invocation);
  }

private:
  static void show(Invocation& invocation) {
    invocation.workspace().publish_all(invocation.debugger);
    invocation.out.write_of_lldb(run_own(invocation.debugger, "process status").output);
  }
};

} // namespace

CommandSpec step_command() {
  return {"step",
          nullptr,
          "Step to the next line, into the method that is called: through stubs, delegates and first calls.",
          "clr step",
          "steps the selected thread.",
          [](CLI::App& app) -> std::unique_ptr<CommandRun> { return std::make_unique<Step>(app); }};
}

} // namespace clr::lldb_plugin
