// What `clr locks`, `clr threads` (its waits) and `clr async` tell of a core, as JSON, without a debugger.
#pragma once

#include "core/report/answer_json.h"
#include "core/report/async_json.h"
#include "core/report/lock_json.h"
#include "core/runtime/core_session.h"
#include "core/runtime/lock_report.h"
#include "core/runtime/stack_reporter.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace clr::test {

class WaitAnswers {
public:
  // All must outlive this.
  WaitAnswers(Runtime& runtime, const ElfCore& core, StackReporter& stacks)
      : runtime_(&runtime), core_(&core), stacks_(&stacks),
        locks_(
            runtime, [this]() -> WaitObjects& { return objects(); }, stacks, [this] { return threads(); }) {}

  // {locks: by object, waits: by os_id, notes}. Throws Error.
  Json locks() {
    const LockTable& table = locks_.table();
    Json rows = Json::object(), waits = Json::object();
    for (const LockRow& row : table.locks)
      if (row.state.kind != LockKind::thread) rows[hex(row.state.object)] = to_json(row, locks_);
    for (const ThreadWait& wait : table.waits)
      waits[std::to_string(wait.os_id)] = waits_for_json(wait, locks_);
    return Json{{"locks", rows}, {"waits", waits}, {"notes", table.problems}};
  }

  // {stacks: by the first box of each, faulted: by task, complete, notes}. Throws Error.
  Json async() {
    AsyncReporter reporter(objects());
    std::vector<ThreadTop> tops;
    for (const LockReporter::ThreadStart& start : threads()) tops.push_back({start.os_id, start.registers});
    reporter.set_threads(std::move(tops));
    reporter.set_stacks(*stacks_);
    const AsyncReport report = reporter.stacks({.each = true});
    Json rows = Json::object(), faulted = Json::object();
    for (const AsyncStack& stack : report.stacks)
      rows[hex(stack.boxes.empty() ? 0 : stack.boxes.front())] = Json::parse(json_text(stack));
    for (const FaultedTask& task : reporter.faulted({}))
      faulted[hex(task.task)] = Json::parse(json_text(task));
    std::vector<std::string> notes = heap_->warnings();
    for (std::string& text : gap_texts(objects_->last().gaps, heap_->map().bytes()))
      notes.push_back(std::move(text));
    if (std::string text = objects_->unknown_types(); !text.empty()) notes.push_back(std::move(text));
    if (report.unreadable != 0)
      notes.push_back(std::to_string(report.unreadable) +
                      " tasks and async methods cannot be read, the first because: " + report.first_fault);
    return Json{{"stacks", rows}, {"faulted", faulted}, {"notes", notes}};
  }

private:
  WaitObjects& objects() {
    if (!heap_) heap_.emplace(*runtime_);
    if (!objects_) objects_.emplace(*runtime_, *heap_);
    return *objects_;
  }

  std::vector<LockReporter::ThreadStart> threads() const {
    std::vector<LockReporter::ThreadStart> starts;
    for (const ThreadRegisters& thread : core_->threads())
      starts.push_back({.os_id = thread.os_id,
                        .index = static_cast<unsigned>(starts.size() + 1),
                        .name = {},
                        .registers = context_of_thread(core_->platform().cpu, thread)});
    return starts;
  }

  Runtime* runtime_;
  const ElfCore* core_;
  StackReporter* stacks_;
  std::optional<HeapReporter> heap_;
  std::optional<WaitObjects> objects_;
  LockReporter locks_;
};

} // namespace clr::test
