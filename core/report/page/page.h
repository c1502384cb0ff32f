// One page in one file that tells what is the matter with a process, to be attached to a ticket: it needs no
// network, runs no script, and holds no text of the target that is not escaped.
#pragma once

#include "core/report/memory_report.h"
#include "core/runtime/heap_retainers.h"
#include "core/runtime/lock_report.h"
#include "core/runtime/stack_reporter.h"
#include "core/runtime/wait_objects.h"
#include "core/waits/async_stacks.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace clr {

struct PageThread {
  unsigned index = 0; // the debugger's number
  std::uint64_t os_id = 0;
  std::string header; // "thread #1, name = 'app', stop reason = signal SIGABRT"
  RegisterContext registers;
};

// One stop, with what is kept of it already. The functions may throw Error: then the sections that need them
// say so, and the others stand.
struct PageSource {
  Runtime* runtime = nullptr;
  StackReporter* stacks = nullptr;
  std::function<LockReporter&()> locks;
  std::function<WaitObjects&()> waits;
  std::function<HeapReporter&()> heap;
  std::function<HeapHolders&()> holders;
  std::function<HeapRetainers&()> retainers;
  std::function<StackReporter::End(const PageThread&, const StackReporter::Options&,
                                   const std::function<bool(const FrameRow&)>&)>
      walk;
  std::function<MemoryReport()> memory;

  std::vector<PageThread> threads;
  const PageThread* chosen = nullptr; // of `threads`: the one to look at first; null: none failed
  std::string why_chosen;
  std::string crash;        // as find_trouble() wants it
  Address program_name = 0; // the same
  std::string process;      // its number
  std::string maker;        // by which program the page is made, and when
  HeapWalkOptions options;
  // Asked between threads and sections; true gives up.
  std::function<bool()> stop;
};

struct MadePage {
  std::string html;
  std::vector<std::string> missing; // what the page lacks, as it says itself
};

// Throws Error{interrupted}; all else is said in the page. Cost: that of find_trouble, AsyncReporter::stacks
// and faulted, the counts of the heap, HeapRetainers, and all stacks. The heap is walked three times: once
// for all that is looked for and counted, then for its references, then for the sizes of what objects retain.
MadePage make_page(PageSource& source);

} // namespace clr
