// Producers of rows about locks and waits.
#include "capi/locks.h"
#include "capi/queries.h"
#include "core/report/answer_json.h"
#include "core/report/async_json.h"
#include "core/report/deadlock_report.h"
#include "core/report/lock_json.h"
#include "core/runtime/presence.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace clr::capi {

RowStream::Producer async_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    require_runtime(inspection.runtime());
    HeapReporter heap(inspection.runtime());
    WaitObjects objects(inspection.runtime(), heap);
    AsyncReporter reporter(objects);
    reporter.set_threads(thread_tops(inspection));
    reporter.set_stacks(inspection.stacks());
    const AsyncReport report = reporter.stacks({.each = true});
    for (const AsyncStack& stack : report.stacks)
      if (!emit(json_text(stack))) break;
    std::vector<std::string> problems = heap.warnings();
    for (std::string& text : gap_texts(objects.last().gaps, heap.map().bytes()))
      problems.push_back(std::move(text));
    if (std::string text = objects.unknown_types(); !text.empty()) problems.push_back(std::move(text));
    if (report.unreadable != 0)
      problems.push_back(fmt::format("{} tasks and async methods cannot be read, the first because: {}",
                                     report.unreadable, report.first_fault));
    if (report.left_out) problems.push_back("there are more chains than are told");
    return Json{{"problems", problems}};
  };
}

RowStream::Producer lock_rows() {
  return [](Inspection& inspection, const RowStream::Emit& emit) {
    Locks locks(inspection);
    const LockTable& table = locks->table();
    for (const LockRow& row : table.locks)
      if (!is_of_thread(row.state.kind) && !emit(dump(to_json(row, *locks)))) break;
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
    const LockTable& by_stacks = locks->table_by_stacks();
    const LockTable& table = locks->stacks_tell_all() ? by_stacks : locks->table();
    for (const ThreadWait& wait : table.waits)
      if (!emit(dump({{"os_id", wait.os_id}, {"waits_for", waits_for_json(wait, *locks)}}))) break;
    return Json{{"problems", table.problems}};
  };
}

} // namespace clr::capi
