// Producers of rows about locks and waits.
#include "capi/queries.h"
#include "core/report/answer_json.h"
#include "core/report/async_json.h"
#include "core/report/deadlock_report.h"
#include "core/report/lock_json.h"
#include "core/runtime/presence.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace clr::capi {

namespace {

// The locks of one stop, with the heap that they are looked for in.
class Locks {
public:
  explicit Locks(Inspection& inspection)
      : inspection_(&inspection), runtime_(&checked(inspection)),
        reporter_(
            *runtime_,
            [this]() -> WaitObjects& {
              if (!heap_) heap_.emplace(*runtime_);
              if (!objects_) objects_.emplace(*runtime_, *heap_);
              return *objects_;
            },
            inspection.stacks(), [this] { return threads(); }) {}

  LockReporter* operator->() { return &reporter_; }
  LockReporter& operator*() { return reporter_; }

private:
  static Runtime& checked(Inspection& inspection) {
    require_runtime(inspection.runtime());
    return inspection.runtime();
  }

  std::vector<LockReporter::ThreadStart> threads() const {
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

  Inspection* inspection_;
  Runtime* runtime_;
  std::optional<HeapReporter> heap_;
  std::optional<WaitObjects> objects_;
  LockReporter reporter_;
};

} // namespace

RowStream::Producer async_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    require_runtime(inspection.runtime());
    HeapReporter heap(inspection.runtime());
    WaitObjects objects(inspection.runtime(), heap);
    AsyncReporter reporter(objects);
    std::vector<ThreadTop> threads;
    for (const ThreadRow& thread : inspection.threads()) try {
        threads.push_back({thread.os_id, inspection.registers(thread.os_id)});
      } catch (const Error&) {
        continue; // without registers nothing is known of its stack
      }
    reporter.set_threads(std::move(threads));
    const AsyncReport report = reporter.stacks({.each = true});
    for (const AsyncStack& stack : report.stacks)
      if (!emit(json_text(stack))) break;
    std::vector<std::string> problems = heap.warnings();
    for (std::string& text : gap_texts(objects.last().gaps, heap.map().bytes()))
      problems.push_back(std::move(text));
    return Json{{"problems", problems}};
  };
}

RowStream::Producer lock_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    Locks locks(inspection);
    const LockTable& table = locks->table();
    for (const LockRow& row : table.locks)
      if (row.state.kind != LockKind::thread && !emit(dump(to_json(row, *locks)))) break;
    return Json{{"problems", table.problems}};
  };
}

RowStream::Producer deadlock_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    Locks locks(inspection);
    for (const Deadlock& deadlock : locks->deadlocks())
      if (!emit(dump(to_json(deadlock, *locks)))) break;
    return Json{{"problems", locks->table().problems}};
  };
}

RowStream::Producer wait_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    Locks locks(inspection);
    const LockTable& table = locks->table_by_stacks();
    for (const ThreadWait& wait : table.waits)
      if (!emit(dump({{"os_id", wait.os_id}, {"waits_for", waits_for_json(wait, *locks)}}))) break;
    return Json{{"problems", table.problems}};
  };
}

} // namespace clr::capi
