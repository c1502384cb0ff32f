// What the tasks that threads wait for wait for themselves, as far as it leads back to threads.
#pragma once

#include "core/waits/async_graph.h"
#include "core/waits/deadlock.h"

#include <vector>

namespace clr {

// From the tasks that threads of `table` wait for, and from async methods that wait for each other, downward:
// what they await, which thread runs a task, and in
// which thread's synchronization context one must go on. A task that waits for one of several has no entry:
// one of them may come. Never throws for target data. Cost: some 10 reads for each task; the frames of all
// stacks are named once.
std::vector<TaskWait> task_waits(const LockTable& table, AsyncGraph& graph, ObjectReader& objects,
                                 MethodNames& names);

constexpr std::size_t max_task_waits = 1'000'000; // tasks that are looked at

} // namespace clr
