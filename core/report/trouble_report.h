// What kind of trouble a process is in, with the evidence: the answer of `clr analyze`.
#pragma once

#include "core/report/exception_report.h"
#include "core/report/json.h"
#include "core/runtime/lock_report.h"
#include "core/waits/verdict.h"

#include <string>
#include <vector>

namespace clr {

struct TroubleReport {
  std::vector<Verdict> verdicts; // the gravest first; never empty
  std::string text;              // what the first of them means here: a sentence without its end
  bool certain = true;           // false: by words on the stack, or by what a moment shows
  std::vector<std::string> evidence;
  std::vector<std::string> missing; // what could not be looked at
};

// `crash` says which thread failed, and how; empty: none did. Then the heap is not walked: the reason is
// known. Throws Error{interrupted}. Cost: that of LockReporter::deadlocks (with a crash of table_by_stacks),
// and of the exceptions of all threads.
TroubleReport find_trouble(LockReporter& locks, StackReporter& stacks, const std::string& crash,
                           const HeapWalkOptions& options = {});

// The members "verdict", "verdicts", "certain", "text", "evidence" and "missing" of `clr analyze --json`.
Json to_json(const TroubleReport& report);

} // namespace clr
