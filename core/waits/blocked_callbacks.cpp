// Threads that wait for what other threads run: callbacks of cancellations, finalizers, callbacks of timers;
// and threads that spin.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/{CancellationTokenSource,
// SpinWait,Timer}.cs, src/coreclr/vm/finalizerthread.cpp.
#include "core/waits/blocked_run.h"

#include <array>

namespace clr {
namespace {

constexpr std::string_view wait_for_callback =
    "System.Threading.CancellationTokenSource+Registrations.WaitForCallbackToComplete";
constexpr std::string_view registrations_type = "System.Threading.CancellationTokenSource+Registrations";
constexpr std::string_view wait_for_finalizers = "WaitForPendingFinalizers";
constexpr std::string_view timer_methods = "System.Threading.TimerQueueTimer.";

// They give up the processor, and look again: whether that ends is not to be seen from one stop.
bool spins(const std::string& name) {
  constexpr std::array methods = {"System.Threading.SpinWait.", "System.Threading.SpinLock.",
                                  "System.Threading.Thread.Yield"};
  return std::ranges::any_of(methods, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Of Thread.Sleep, which they give up the processor with; from .NET 11 on managed code sleeps below it.
bool gives_way(const std::string& name) {
  constexpr std::array parts = {"System.Threading.Thread.", "System.Threading.WaitSubsystem",
                                "System.Threading.LowLevelMonitor.", "Interop+Sys.<LowLevelMonitor_",
                                "Interop+Sys.LowLevelMonitor_"};
  return std::ranges::any_of(parts, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

} // namespace

bool BlockedThreads::find_work_of_others(Thread& thread) {
  if (thread.calls(wait_for_callback)) {
    find_callback(thread);
    return true;
  }
  if (std::ranges::any_of(thread.named, [&](const Named& named) {
        return named.frame != thread.wait.user_frame && named.method.name.starts_with("System.GC.") &&
               named.method.name.find(wait_for_finalizers) != std::string::npos;
      })) {
    find_finalizers(thread);
    return true;
  }
  for (const Named& named : thread.named) {
    if (named.frame == thread.wait.user_frame) break;
    const std::string& name = named.method.name;
    if (spins(name))
      thread.spins = true;
    else if (thread.spins || !gives_way(name))
      return false; // the framework's own locks spin for a moment before they wait
  }
  // Only what user code calls itself.
  if (!thread.spins || !thread.wait.user_frame) return false;
  thread.wait.what = ThreadWait::What::running;
  return true;
}

// Dispose and Unregister of a registration spin until its callback has returned.
void BlockedThreads::find_callback(Thread& thread) {
  ThreadWait& wait = thread.wait;
  wait.what = ThreadWait::What::objects;
  wait.kind = LockKind::callback;
  // The source itself no longer leads to them.
  for (const Address object : live_objects(thread))
    if (derives(object, registrations_type)) return add(thread, object, LockKind::callback);
  wait.certain = false;
  for (const Address word : words(thread))
    if (word_derives(word, registrations_type)) return add(thread, word, LockKind::callback);
}

// The runtime's event that the finalizers are done has no name: the frame alone tells.
void BlockedThreads::find_finalizers(Thread& thread) {
  ThreadWait& wait = thread.wait;
  wait.what = ThreadWait::What::objects;
  wait.kind = LockKind::finalizers;
  wait.certain = false;
  const std::optional<std::uint64_t> global = target_->find_global("FinalizerThread");
  const Address finalizer = global ? target_->read_pointer(*global) : 0;
  if (finalizer == 0) return;
  const char* const field = target_->find_offset("Thread", "ExposedObject") ? "ExposedObject" : "GCHandle";
  const Address handle = target_->read_pointer(target_->field_address(finalizer, "Thread", field));
  if (handle != 0) add(thread, target_->read_pointer(handle), LockKind::finalizers);
}

std::vector<Address> BlockedThreads::told_by_timers(const ThreadStack& stack) {
  std::vector<Address> told;
  for (const FrameRoots& frame : stack.roots) {
    if (frame.frame >= stack.frames.size() || !stack.frames[frame.frame].code) continue;
    try {
      const Method method = names_->describe(stack.frames[frame.frame].code->method_desc);
      if (!method.name.starts_with(timer_methods)) continue;
      for (const StackRoot& root : frame.roots) {
        if (root.slot.interior || !derives(root.value, "System.Threading.TimerQueueTimer")) continue;
        const Address notified =
            reader_.reference(reader_.of_object(root.value), "_notifyWhenNoCallbacksRunning");
        if (notified != 0 && !is_among(told, notified)) told.push_back(notified);
      }
    } catch (const Error&) {
      continue; // a frame without a name is none that is looked for
    }
  }
  return told;
}

} // namespace clr
