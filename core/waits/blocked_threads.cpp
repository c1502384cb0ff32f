#include "core/waits/blocked_threads.h"

#include "core/isa/system_call.h"
#include "core/waits/blocked_run.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {

// ThreadBlockingInfo.ObjectKind
enum class BlockingKind : std::uint64_t { monitor_lock = 0, monitor_wait = 1, lock = 2, condition = 3 };

bool is_idle(const std::string& name) {
  constexpr std::array idle = {
      "System.Threading.LowLevelLifoSemaphore.", "System.Threading.PortableThreadPool+GateThread.",
      "System.Threading.PortableThreadPool+WaitThread.", "System.Threading.TimerQueue.TimerThread",
      "System.Net.Sockets.SocketAsyncEngine.EventLoop"};
  return std::ranges::any_of(idle, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

} // namespace

std::string_view to_string(WaitMode mode) {
  switch (mode) {
  case WaitMode::enter:
    return "enter";
  case WaitMode::wait:
    return "wait";
  case WaitMode::read:
    return "read";
  case WaitMode::write:
    return "write";
  case WaitMode::upgrade:
    return "upgrade";
  }
  return "";
}

bool is_framework_module(std::string_view module) {
  return module.starts_with("System.") || module.starts_with("Microsoft.") || module == "mscorlib.dll";
}

bool answers_requests(std::string_view method) {
  return method.find("HttpProtocol") != method.npos && method.find("ProcessRequests") != method.npos;
}

bool is_owed(LockKind kind) {
  switch (kind) {
  case LockKind::monitor:
  case LockKind::lock:
  case LockKind::rwlock:
  case LockKind::mutex:
  case LockKind::task:
  case LockKind::class_init:
  case LockKind::thread:
  case LockKind::finalizers:
  case LockKind::callback:
    return true;
  default:
    return false;
  }
}

ThreadWait BlockedThreads::of(const ThreadStack& stack) {
  Thread thread{.stack = stack, .wait = {.os_id = stack.os_id}, .named = {}, .nameless = stack.gaps};
  ThreadWait& wait = thread.wait;
  try {
    for (std::size_t i = 0; i < stack.frames.size() && !wait.user_frame; ++i) {
      const StackFrame& frame = stack.frames[i];
      // Where the call of a native function was inlined, only the runtime's Frame has its name.
      if (frame.kind == StackFrameKind::runtime && frame.method_desc && !wait.managed_frame) {
        try {
          thread.named.push_back({.frame = i, .method = names_->describe(*frame.method_desc)});
        } catch (const Error&) {
          continue; // a Frame without a name tells nothing
        }
      }
      // Nobody knows whether that is managed code.
      if (frame.kind == StackFrameKind::native && !frame.fault.empty()) thread.nameless = true;
      if (frame.kind != StackFrameKind::managed || !frame.code) continue;
      if (!wait.managed_frame) wait.managed_frame = i;
      Named named{.frame = i, .method = {}};
      try {
        named.method = names_->describe(frame.code->method_desc);
      } catch (const Error& error) {
        thread.nameless = true;
        if (nameless_.empty()) nameless_ = error.what();
        continue; // a frame without a name tells nothing
      }
      const bool framework = is_framework_module(named.method.module.str());
      if (!framework) wait.user_frame = i;
      if (named.method.name_from == NameSource::token) remember(named.method.degraded);
      if (named.method.name_from == NameSource::token && (framework || named.method.module.str() == "?")) {
        thread.nameless = true;
        if (nameless_.empty()) nameless_ = named.method.degraded;
      }
      thread.named.push_back(std::move(named));
    }
    if (!wait.managed_frame) return wait;
    if (find_work_of_others(thread)) return wait;
    if (stack.frames.front().kind == StackFrameKind::managed && stack.frames.front().leaf) {
      wait.what = ThreadWait::What::running;
      return wait;
    }
    if (!wait.user_frame &&
        std::ranges::any_of(thread.named, [](const Named& named) { return is_idle(named.method.name); })) {
      wait.what = ThreadWait::What::idle;
      return wait;
    }
    bool guessed = false;
    try {
      by_blocking_info(thread);
    } catch (const Error& error) {
      // The frames may tell, though not what the framework's own primitives are parts of.
      guessed = error.kind() == ErrorKind::unsupported_contract;
      if (wait.objects.empty()) wait.what = ThreadWait::What::unknown;
      if (problem_.empty() && error.kind() == ErrorKind::unsupported_contract) problem_ = error.what();
    }
    if (wait.what == ThreadWait::What::unknown) by_frames(thread);
    // The user's frame may be one that is missing.
    wait.certain = wait.certain && !guessed && !thread.nameless;
    settle_mode(thread);
    wait.in_request = wait.user_frame && wait.what == ThreadWait::What::objects && !is_owed(wait.kind) &&
                      is_in_request(thread);
  } catch (const Error& error) {
    remember(error.what());
    // What is known so far stays; a monitor is what nobody has named yet.
    if (wait.what == ThreadWait::What::objects && wait.objects.empty() && wait.kind == LockKind::monitor)
      wait.what = ThreadWait::What::unknown;
  }
  return wait;
}

bool BlockedThreads::is_in_request(const Thread& thread) {
  const std::vector<StackFrame>& frames = thread.stack.frames;
  const std::size_t first = *thread.wait.user_frame;
  for (std::size_t i = first; i < std::min(frames.size(), first + max_request_frames); ++i) {
    if (frames[i].kind != StackFrameKind::managed || !frames[i].code) continue;
    try {
      const Method method = names_->describe(frames[i].code->method_desc);
      if (is_framework_module(method.module.str()) && answers_requests(method.name)) return true;
    } catch (const Error&) {
      continue; // a frame without a name tells nothing
    }
  }
  return false;
}

void BlockedThreads::by_blocking_info(Thread& thread) {
  constexpr std::string_view type = "System.Threading.ThreadBlockingInfo";
  if (thread.stack.thread == nullptr) return;
  const Address of = thread.stack.thread->address;
  std::optional<Address> field = library_->thread_static(type, "t_first", of);
  // The runtime's own code keeps it at the same place before managed code has asked where that is. What it
  // leads to is checked below.
  if (!field && target_->find_offset("ThreadLocalData", "ThreadBlockingInfo"))
    field = target_->field_address(
        target_->read_pointer(target_->field_address(of, "Thread", "ThreadLocalDataPtr")), "ThreadLocalData",
        "ThreadBlockingInfo");
  const Address record = field ? target_->read_pointer(*field) : 0;
  // The record lies on the stack of the thread that waits.
  if (record < thread.stack.frames.front().sp()) return;
  if (thread.stack.thread->stack_base && record >= *thread.stack.thread->stack_base) return;
  const Instance instance{reader_.objects().layouts().of(library_->find(type)), record};
  const Address object = reader_.reference(instance, "_objectPtr");
  const auto kind = static_cast<BlockingKind>(reader_.integer(instance, "_objectKind"));
  const auto timeout = static_cast<std::int32_t>(reader_.integer(instance, "_timeoutMs"));
  if (timeout >= 0) thread.wait.timeout_ms = static_cast<std::uint64_t>(timeout);
  switch (kind) {
  case BlockingKind::monitor_lock: {
    const Address locked = blocks_.of_block(object).object;
    thread.wait.what = ThreadWait::What::objects;
    thread.wait.mode = WaitMode::enter;
    add(thread, locked, LockKind::monitor);
    return;
  }
  case BlockingKind::monitor_wait: {
    const Address waited = blocks_.of_block(object).object;
    thread.wait.what = ThreadWait::What::objects;
    wait_on_monitor(thread, waited);
    return;
  }
  case BlockingKind::lock:
    thread.wait.what = ThreadWait::What::objects;
    thread.wait.mode = WaitMode::enter;
    add(thread, target_->read_pointer(object), LockKind::lock);
    return;
  case BlockingKind::condition: {
    thread.wait.what = ThreadWait::What::objects;
    // It belongs to a lock: that of an object, or one that a primitive keeps for itself.
    const Address lock = reader_.reference(reader_.of_object(target_->read_pointer(object)), "_lock");
    const Address locked = monitors_.object_of(lock);
    wait_on_monitor(thread, locked != 0 ? locked : lock);
    return;
  }
  }
}

void BlockedThreads::wait_on_monitor(Thread& thread, Address object) {
  const Address owner = index_ == nullptr ? 0 : index_->owner_of(object);
  const LockIndex::Entry* entry = owner == 0 ? nullptr : index_->find(owner);
  if (entry == nullptr) {
    // Where the heap cannot be walked, the frames name the type, and its object lives in them.
    return find_primitive_by_class(thread) ? void() : add(thread, object, LockKind::condition);
  }
  if (entry->kind == LockKind::barrier) thread.wait.timeout_ms.reset(); // it waits in slices
  const std::string type = type_name(owner);
  if (type == "System.Threading.Tasks.Task+SetOnInvokeMres" ||
      type == "System.Threading.Tasks.Task+SetOnCountdownMres")
    return wait_for_tasks(thread, owner);
  add(thread, owner, entry->kind);
}

void BlockedThreads::wait_for_tasks(Thread& thread, Address event) {
  thread.wait.kind = LockKind::task;
  for (const Address task : tasks_of_(event)) add_task(thread, task);
  if (thread.wait.objects.empty()) find_primitive(thread, LockKind::task);
}

bool BlockedThreads::take_one(std::size_t& left, std::string_view what) {
  if (left != 0) {
    --left;
    return true;
  }
  if (reached_limit_.empty()) reached_limit_ = what;
  return false;
}

// The semaphore in whose line of async waiters `node` stands; 0 when none is known to have it.
Address BlockedThreads::semaphore_of(Address node) {
  if (index_ == nullptr) return 0;
  if (!lines_) {
    lines_.emplace();
    for (const LockIndex::Entry& entry : index_->entries()) {
      if (entry.kind != LockKind::semaphore) continue;
      try {
        const Instance semaphore = reader_.of_object(entry.object);
        if (!reader_.find(semaphore, "m_asyncHead")) continue;
        if (const Address head = reader_.reference(semaphore, "m_asyncHead"))
          lines_->emplace(head, entry.object);
      } catch (const Error&) {
        continue; // a semaphore that cannot be read has no line that is known
      }
    }
  }
  // Each is looked at once. One that a walk comes back to is in a ring, and in no line.
  std::vector<Address> passed;
  Address semaphore = 0;
  while (node != 0) {
    const auto [found, added] = lines_->try_emplace(node, 0);
    semaphore = found->second;
    if (!added || !take_one(line_left_, "too many wait for semaphores")) break;
    passed.push_back(node);
    node = reader_.reference(reader_.of_object(node), "Prev");
  }
  for (const Address one : passed) (*lines_)[one] = semaphore;
  return semaphore;
}

void BlockedThreads::add_task(Thread& thread, Address task) {
  // Task.WaitAny waits for a promise that the first one of its tasks keeps.
  const Instance instance = reader_.of_object(task);
  if (framework_type_name(*instance.layout.name) == "System.Threading.SemaphoreSlim+TaskNode") {
    // Wait() stands in the line with those that wait asynchronously.
    if (const Address semaphore = semaphore_of(task)) return add(thread, semaphore, LockKind::semaphore);
  }
  if (framework_type_name(*instance.layout.name).find("+CompleteOnInvokePromise") != std::string::npos) {
    const std::optional<FieldPlace> tasks = reader_.find(instance, "_tasks");
    const Address list = tasks ? target_->read_pointer(tasks->at) : 0;
    if (list != 0 && reader_.objects().layouts().of(reader_.objects().method_table_of(list)).kind ==
                         TypeLayout::Kind::array) {
      const InstanceReader::Vector items = reader_.vector(list);
      thread.wait.any = true;
      for (std::uint32_t i = 0; i < items.count && thread.wait.objects.size() < max_objects &&
                                take_one(tasks_left_, "too many tasks of which one is enough");
           ++i)
        add(thread, target_->read_pointer(items.at(i)), LockKind::task);
      return;
    }
  }
  add(thread, task, LockKind::task);
}

void BlockedThreads::by_frames(Thread& thread) {
  ThreadWait& wait = thread.wait;
  wait.what = ThreadWait::What::objects;
  // They spin before they wait, and again in each slice of a wait.
  if (thread.spins && find_primitive_by_class(thread)) return;
  if (thread.calls("System.Threading.ReaderWriterLockSlim.")) return find_rwlock(thread);
  if (thread.calls(old_rwlock) && index_ == nullptr) return find_primitive(thread, LockKind::rwlock);
  if (thread.calls("System.Threading.Thread.Join") || thread.calls("System.Threading.Thread.<Join>"))
    return find_joined(thread);
  if (thread.calls("System.Threading.WaitHandle.WaitMultiple")) return find_handles(thread);
  if (thread.calls("System.Threading.WaitHandle.WaitOne")) return find_handle(thread);
  if (thread.calls("System.Threading.WaitHandle.SignalAndWait")) return find_one_of_two(thread);
  const auto found = std::ranges::find(thread.named, *wait.managed_frame, &Named::frame);
  const Named* const innermost = found == thread.named.end() ? nullptr : &*found;
  const std::string name = innermost == nullptr ? "" : innermost->method.name;
  if (name.starts_with("System.Threading.Monitor.")) {
    // Without the runtime's own word, the one object that the method holds is its argument.
    const std::vector<Address> held = live_objects(thread, innermost->frame);
    wait.kind = name.starts_with("System.Threading.Monitor.Wait") ? LockKind::condition : LockKind::monitor;
    wait.mode = wait.kind == LockKind::monitor ? WaitMode::enter : WaitMode::wait;
    wait.certain = held.size() == 1;
    if (held.size() != 1) return;
    return wait.kind == LockKind::condition ? wait_on_monitor(thread, held.front())
                                            : add(thread, held.front(), LockKind::monitor);
  }
  if (name.starts_with("System.Runtime.CompilerServices.InitHelpers.")) {
    wait.kind = LockKind::class_init;
    wait.certain = false;
    return;
  }
  // From .NET 11 on managed code waits below it.
  const StackFrame& top = thread.stack.frames.front();
  if (thread.calls("System.Threading.Thread.Sleep")) {
    // Sleep(0) gives up the processor and is back when it is its turn: so do loops that spin.
    wait.what = top.kind == StackFrameKind::native &&
                        stands_behind_yield(target_->memory(), target_->platform().cpu, top.pc())
                    ? ThreadWait::What::running
                    : ThreadWait::What::sleep;
    return;
  }
  // Native code that is in no call of the system works.
  if (top.kind == StackFrameKind::native &&
      stands_behind_system_call(target_->memory(), target_->platform().cpu, top.pc()) == false) {
    wait.what = ThreadWait::What::running;
  } else if (thread.nameless) {
    // One of the frames may be that of a wait of the framework.
    wait.what = ThreadWait::What::unknown;
    return;
  } else if (thread.stack.thread != nullptr && thread.stack.thread->cooperative != false) {
    // A thread that calls native code lets the collector work meanwhile. One that does not is within the
    // runtime, as a thread is whose exception is looked after; or it is not known.
    wait.what = ThreadWait::What::unknown;
    return;
  } else {
    wait.what = ThreadWait::What::native;
  }
  if (innermost != nullptr) wait.native = innermost->method.shown_name();
  for (std::size_t i = *wait.managed_frame; i-- > 0 && !wait.native_frame;)
    if (thread.stack.frames[i].kind == StackFrameKind::native) wait.native_frame = i;
}

void BlockedThreads::add(Thread& thread, Address object, LockKind kind) {
  if (object == 0) return;
  if (const Address locked = kind == LockKind::lock ? monitors_.object_of(object) : 0; locked != 0) {
    object = locked;
    kind = LockKind::monitor;
  }
  if (thread.wait.objects.empty()) thread.wait.kind = kind;
  if (thread.wait.objects.size() >= max_objects ||
      std::ranges::find(thread.wait.objects, object, &WaitedObject::object) != thread.wait.objects.end())
    return;
  if (kind != thread.wait.kind) thread.wait.kind = LockKind::wait_handle;
  thread.wait.objects.push_back({object, kind});
}

} // namespace clr
