// What threads wait for, and who holds it, in words.
#include "core/runtime/lock_report.h"

#include "core/objects/object_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace clr {
namespace {

// What a wait is for, of which no object is known.
std::string_view words_of(LockKind kind) {
  switch (kind) {
  case LockKind::rwlock:
    return "reader-writer lock";
  case LockKind::wait_handle:
    return "wait handle";
  case LockKind::class_init:
    return "constructor of a class";
  case LockKind::thread:
    return "thread's end";
  case LockKind::finalizers:
    return "run of the finalizers";
  case LockKind::callback:
    return "callback of a cancellation";
  default:
    return to_string(kind);
  }
}

} // namespace

// Those who read under a lock, by name.
std::string LockReporter::readers_text(const LockRow& row) const {
  constexpr std::size_t most = 20;
  std::vector<std::string> readers;
  for (const LockHolder& reader : row.readers) {
    if (readers.size() == most) {
      readers.push_back(fmt::format("{} more", row.readers.size() - most));
      break;
    }
    readers.push_back(holder_text(reader));
  }
  if (row.readers.size() < row.state.reader_count)
    readers.push_back(fmt::format("{} that could not be found", row.state.reader_count - row.readers.size()));
  return fmt::format("{}", fmt::join(readers, ", "));
}

std::string LockReporter::owner_text(const LockRow& row) const {
  if (row.owner) {
    const bool class_init = row.state.kind == LockKind::class_init;
    // The owner comes last: where it stands follows.
    return fmt::format("{}{} {}{}", row.readers.empty() ? "" : fmt::format("read by {}, ", readers_text(row)),
                       class_init ? "being initialised by" : "held by", holder_text(*row.owner),
                       row.state.upgradeable ? " (upgradeable)" : "");
  }
  if (row.ender)
    return fmt::format("{}the wait ends when the callback of a timer on {} does",
                       row.state.text.empty() ? "" : row.state.text + ", ", thread_text(*row.ender));
  if (row.state.reader_count != 0) return "read by " + readers_text(row);
  if (!row.state.owner_known && is_owed(row.state.kind)) return "its owner is not to be known";
  switch (row.state.kind) {
  case LockKind::monitor:
  case LockKind::lock:
  case LockKind::rwlock:
    return "held by nobody";
  default:
    return row.state.text;
  }
}

std::string LockReporter::type_of(const LockState& state) {
  try {
    const Address table = state.kind == LockKind::class_init
                              ? state.object
                              : runtime_->objects()->method_table_of(state.object);
    return runtime_->names()->type_name(table);
  } catch (const std::exception&) {
    return {};
  }
}

std::string LockReporter::object_text(const WaitedObject& object, const ThreadWait* wait) {
  const std::string type = type_of({.object = object.object, .kind = object.kind, .text = {}});
  const std::string named = fmt::format("{} {:#x}", type.empty() ? "an object" : type, object.object);
  switch (object.kind) {
  case LockKind::monitor:
    return fmt::format("the lock of {}", named);
  case LockKind::condition:
    return fmt::format("a pulse of {}", named);
  case LockKind::class_init:
    return fmt::format("the constructor of class {}", type.empty() ? "unknown" : type);
  case LockKind::thread: {
    const LockRow* const row = known().find(object);
    return fmt::format("the end of {}", row != nullptr && row->owner ? holder_text(*row->owner) : named);
  }
  case LockKind::finalizers: {
    const LockRow* const row = known().find(object);
    return fmt::format("the finalizers, which {} runs",
                       row != nullptr && row->owner ? holder_text(*row->owner) : "a thread of the runtime");
  }
  case LockKind::callback: {
    const LockRow* const row = known().find(object);
    return fmt::format("the end of a callback of a cancellation{}",
                       row != nullptr && row->owner ? fmt::format(", which {} runs", holder_text(*row->owner))
                                                    : "");
  }
  case LockKind::rwlock:
    return wait == nullptr ? named : fmt::format("{} {}", named, purpose_text(wait->mode));
  case LockKind::task: {
    const std::string method = async_method(object.object);
    return method.empty() ? named : fmt::format("{} {:#x}", method, object.object);
  }
  default:
    return named;
  }
}

// The method whose task it is, for people; "" for other tasks.
std::string LockReporter::async_method(Address task) {
  try {
    if (waits_ != nullptr)
      if (const AsyncBox* const box = waits_->async().box(task))
        return async_names_.position(*box)->method->shown_name();
    if (!lineages_) lineages_.emplace(runtime_->names()->types());
    AsyncObjects kinds(*runtime_->objects(), *lineages_);
    const MachineShape* const machine = async_names_.machine_in(kinds, task);
    return machine == nullptr ? std::string() : async_names_.method_of(*machine)->shown_name();
  } catch (const Error&) {
    return {}; // its type tells, then
  }
}

std::string LockReporter::task_place(Address task) {
  try {
    if (waits_ != nullptr)
      if (const AsyncBox* const box = waits_->async().box(task))
        return source_position(async_names_.position(*box)->source);
  } catch (const Error&) {
    // Its name tells, then.
  }
  return {};
}

std::string LockReporter::owned_text(const WaitedObject& object, const ThreadWait& wait) {
  const LockRow* const row = is_of_thread(object.kind) ? nullptr : known().find(object);
  const std::string owner = row == nullptr ? "" : owner_text(*row);
  return fmt::format("{}{}{}", object_text(object, &wait), owner.empty() ? "" : ", ", owner);
}

std::string LockReporter::wait_text(const ThreadWait& wait) {
  switch (wait.what) {
  case ThreadWait::What::unknown:
  case ThreadWait::What::running:
    return {};
  case ThreadWait::What::sleep:
    return "sleeps";
  case ThreadWait::What::idle:
    return "has nothing to do";
  case ThreadWait::What::native: {
    std::string symbol;
    if (const ThreadStack* stack = wait.native_frame ? stack_of(wait.os_id) : nullptr)
      symbol = stacks_->row_of(stack->frames[*wait.native_frame], {.lines = false}).symbol;
    if (symbol.empty())
      return wait.native.empty() ? "native code" : fmt::format("native code of {}", wait.native);
    return wait.native.empty() ? fmt::format("native code: {}", symbol)
                               : fmt::format("native code: {}, called by {}", symbol, wait.native);
  }
  case ThreadWait::What::objects:
    break;
  }
  std::vector<std::string> objects;
  for (const WaitedObject& object : wait.objects) {
    constexpr std::size_t most = 4;
    if (objects.size() == most) {
      objects.push_back(fmt::format("{} more", wait.objects.size() - most));
      break;
    }
    objects.push_back(owned_text(object, wait));
  }
  std::string text = objects.size() > 1
                         ? fmt::format("{} of: {}", wait.any ? "any" : "all", fmt::join(objects, "; "))
                     : objects.empty() ? fmt::format("an unknown {}", words_of(wait.kind))
                                       : objects.front();
  if (wait.timeout_ms) text += fmt::format(", for at most {} ms", *wait.timeout_ms);
  return text;
}

} // namespace clr
