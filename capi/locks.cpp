#include "capi/locks.h"

#include "core/memory/error.h"
#include "core/runtime/presence.h"

namespace clr::capi {

namespace {

Runtime& checked(Inspection& inspection) {
  require_runtime(inspection.runtime());
  return inspection.runtime();
}

} // namespace

Locks::Locks(Inspection& inspection)
    : inspection_(&inspection), runtime_(&checked(inspection)),
      reporter_(
          *runtime_, [this]() -> WaitObjects& { return objects(); }, inspection.stacks(),
          [this] { return threads(); }) {}

HeapReporter& Locks::heap() {
  if (!heap_) heap_.emplace(*runtime_);
  return *heap_;
}

WaitObjects& Locks::objects() {
  if (!objects_) objects_.emplace(*runtime_, heap());
  return *objects_;
}

std::vector<LockReporter::ThreadStart> Locks::threads() const {
  std::vector<LockReporter::ThreadStart> starts;
  for (const ThreadRow& thread : inspection_->threads()) try {
      starts.push_back({.os_id = thread.os_id,
                        .index = thread.index,
                        .name = thread.name,
                        .registers = inspection_->registers(thread.os_id)});
    } catch (const Error&) {
      continue; // without registers it has no stack
    }
  return starts;
}

std::vector<ThreadTop> thread_tops(Inspection& inspection) {
  std::vector<ThreadTop> threads;
  for (const ThreadRow& thread : inspection.threads()) try {
      threads.push_back({thread.os_id, inspection.registers(thread.os_id)});
    } catch (const Error&) {
      continue; // without registers nothing is known of its stack
    }
  return threads;
}

} // namespace clr::capi
