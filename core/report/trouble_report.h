// What kind of trouble a process is in, with the evidence: the answer of `clr analyze`.
#pragma once

#include "core/report/exception_report.h"
#include "core/report/json.h"
#include "core/runtime/async_waiting.h"
#include "core/runtime/memory_limit.h"
#include "core/runtime/stop_mark.h"
#include "core/waits/verdict.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace clr {

struct TroubleReport {
  std::vector<Verdict> verdicts; // the gravest first; never empty
  std::string text;              // what the first of them means here: a sentence without its end
  bool certain = true;           // false: by words on the stack, or by what a moment shows
  std::vector<std::string> evidence;
  std::vector<std::string> missing; // what could not be looked at
  std::vector<AwaitGroup> waiting;  // async methods to which somebody owes something, the largest group first
  std::vector<HeapTypeRow> types;   // those that fill most of the heap, when memory is the trouble
  std::optional<HeapLimit> limit;   // of the heap, then
  std::optional<StopMark> mark;     // of this stop; nothing after a crash
};

// "217 requests wait for Ns.Cache._gate (a SemaphoreSlim) in Ns.Cache.Get() at Cache.cs:41:9, ...".
std::string text_of(const AwaitGroup& group);

// "probably waiting: 3 threads wait ...; also busy": the verdicts and the sentence of the first.
std::string verdict_text(const TroubleReport& report);

// What a stop can be asked.
struct TroubleSources {
  LockReporter& locks;
  StackReporter& stacks;
  // May throw Error: then there is no heap, and stacks alone decide.
  std::function<HeapReporter&()> heap;
  std::function<AsyncReporter&()> async;
  Address program_name = 0; // AT_EXECFN of the auxiliary vector; 0: not known
};

// `crash` says which thread failed, and how; empty: none did. Then the heap is not walked: the reason is
// known. Throws Error{interrupted}. Cost: that of LockReporter::deadlocks (with a crash of table_by_stacks),
// of AsyncWaits::read, heap_limit, and of the exceptions of all threads; when memory is the trouble, of a
// second walk over the heap.
TroubleReport find_trouble(TroubleSources& sources, const std::string& crash,
                           const HeapWalkOptions& options = {});

// The members "verdict", "verdicts", "certain", "text", "evidence", "missing", "waiting" and "memory" of
// `clr analyze --json`.
Json to_json(const TroubleReport& report);

// A process that ran for `seconds` between two stops.
struct SecondLook {
  double seconds = 0;
  StopChange change;
};
// What the two stops tell together, as a sentence without its end: "it hangs: ...".
std::string text_of(const SecondLook& look);
// Makes the verdict of the second stop certain where both tell the same hang.
void add(const SecondLook& look, TroubleReport& report);
Json to_json(const SecondLook& look);

} // namespace clr
