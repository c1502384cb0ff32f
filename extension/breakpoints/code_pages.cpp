#include "extension/breakpoints/code_pages.h"

#include "extension/lldb/lldb_error.h"
#include "extension/lldb/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
constexpr Address page_size = 4096; // what mprotect takes may be coarser: then the mapping's own bounds are
// Mappings in one call; more are made in further calls.
constexpr std::size_t max_in_call = 64;
constexpr std::size_t max_mappings = 16384;
constexpr std::uint32_t time_limit = 1'000'000; // microseconds
// Below this a thread's stack counts as used up.
constexpr Address wanted_stack = 16 * 1024;
constexpr int read_write_execute = 7, read_execute = 5;

// A signal that the thread itself caused, and that will be delivered to it: not the SIGTRAP of
// Debugger.Break, which LLDB keeps to itself. SIGSTOP and SIGINT are how LLDB and its user stop a process.
bool is_at_fault(lldb::SBThread& thread) {
  if (thread.GetStopReason() != lldb::eStopReasonSignal || thread.GetStopReasonDataCount() == 0) return false;
  const auto number = static_cast<int>(thread.GetStopReasonDataAtIndex(0));
  if (number == SIGSTOP || number == SIGINT) return false;
  return !thread.GetProcess().GetUnixSignals().GetShouldSuppress(number);
}

// While a signal waits to be delivered, no thread may run: what is said of it (the address of a fault) would
// be lost, and the runtime would take a null reference for something worse.
bool stands_at_fault(lldb::SBProcess& process) {
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (is_at_fault(thread)) return true;
  }
  return false;
}

// A thread that stands in the kernel or in code like any other can make a call; one that has no stack left
// cannot.
bool is_fit(lldb::SBProcess& process, lldb::SBThread& thread) {
  if (!thread.IsValid() || thread.IsSuspended()) return false;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (!frame.IsValid()) return false;
  const Address stack = frame.GetSP();
  lldb::SBMemoryRegionInfo region;
  if (stack < wanted_stack || !region_at(process, stack - wanted_stack, region)) return false;
  return region.IsWritable();
}

lldb::SBThread fit_thread(lldb::SBProcess& process, lldb::SBThread& wished) {
  if (is_fit(process, wished)) return wished;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (is_fit(process, thread)) return thread;
  }
  return {};
}

// A private mapping of a file, as of ReadyToRun code, takes breakpoints as it is. The runtime maps its heaps
// from a file without a place, which it calls doublemapper.
bool is_shared_heap(lldb::SBMemoryRegionInfo& region) {
  const char* name = region.GetName();
  if (name == nullptr || *name == '\0') return true;
  return std::string_view(name).find("doublemapper") != std::string_view::npos;
}

// Threads that came to breakpoints in the same moment have not told of them yet when a call is made for the
// first of them. LLDB asks all threads again when the call has ended, and drops what it hears meanwhile; it
// does not ask those that are suspended.
class OthersSuspended {
public:
  OthersSuspended(lldb::SBProcess& process, lldb::SBThread& caller) {
    for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
      lldb::SBThread thread = process.GetThreadAtIndex(i);
      if (thread.GetThreadID() == caller.GetThreadID() || thread.IsSuspended()) continue;
      if (thread.Suspend()) suspended_.push_back(thread);
    }
  }
  OthersSuspended(const OthersSuspended&) = delete;
  OthersSuspended& operator=(const OthersSuspended&) = delete;
  ~OthersSuspended() {
    for (lldb::SBThread& thread : suspended_) thread.Resume();
  }

private:
  std::vector<lldb::SBThread> suspended_;
};

// No program has memory here.
constexpr lldb::addr_t lowest_memory = 16 * page_size;
constexpr std::size_t least_piece = 16, max_pieces = 64; // bytes, in which LLDB divides its pages

// LLDB puts the code and the values of a call into pages of its own, one for each kind of protection, and
// keeps them. Its server has a thread make the system call for them; when that thread has another stop
// waiting, as when several came to breakpoints in the same moment, the call is not made, and the server takes
// what is left in a register, the call's number, for the address (seen in 21 and 22). No call from such a
// page comes to an end. What it has room for is taken here, so that LLDB uses another one.
void fill_pages_that_are_none(lldb::SBProcess& process) {
  constexpr std::uint32_t readable = lldb::ePermissionsReadable;
  for (const std::uint32_t permissions :
       {readable | lldb::ePermissionsWritable, readable | lldb::ePermissionsExecutable, readable}) {
    std::size_t size = page_size;
    for (std::size_t pieces = 0; size >= least_piece && pieces < max_pieces; ++pieces) {
      lldb::SBError error;
      const lldb::addr_t at = process.AllocateMemory(size, permissions, error);
      if (error.Fail() || at == LLDB_INVALID_ADDRESS) break;
      if (at < lowest_memory) continue;
      process.DeallocateMemory(at);
      size /= 2;
    }
  }
}

lldb::SBExpressionOptions call_options() {
  lldb::SBExpressionOptions options;
  options.SetLanguage(lldb::eLanguageTypeC99);
  options.SetTimeoutInMicroSeconds(time_limit);
  options.SetStopOthers(true);
  options.SetTryAllThreads(false);
  options.SetUnwindOnError(true);
  options.SetIgnoreBreakpoints(true);
  options.SetTrapExceptions(false);
  options.SetAutoApplyFixIts(false);
  options.SetSuppressPersistentResult(true);
  options.SetFetchDynamicValue(lldb::eNoDynamicValues);
  return options;
}
} // namespace

lldb::addr_t CodePages::mprotect_address() {
  if (mprotect_ != 0) return mprotect_;
  lldb::SBSymbolContextList found = target_.FindSymbols("mprotect", lldb::eSymbolTypeCode);
  for (std::uint32_t i = 0; i < found.GetSize() && mprotect_ == 0; ++i) {
    const lldb::addr_t at = found.GetContextAtIndex(i).GetSymbol().GetStartAddress().GetLoadAddress(target_);
    if (at != LLDB_INVALID_ADDRESS) mprotect_ = at;
  }
  return mprotect_;
}

std::vector<CodeSpan> CodePages::not_writable(const std::vector<CodeSpan>& wanted) {
  lldb::SBProcess process = target_.GetProcess();
  std::vector<CodeSpan> sorted = wanted, spans;
  std::ranges::sort(sorted, {}, &CodeSpan::begin);
  lldb::SBMemoryRegionInfo region; // the last one that was asked for
  bool known = false;
  for (const CodeSpan& want : sorted) {
    Address at = want.begin & ~(page_size - 1);
    while (at < want.end && spans.size() < max_mappings) {
      known = known && region.GetRegionBase() <= at && at < region.GetRegionEnd();
      if (!known) known = region_at(process, at, region) && region.GetRegionEnd() > at;
      if (!known) break;
      const Address whole_end = (want.end + page_size - 1) & ~(page_size - 1);
      const Address end = std::min<Address>(region.GetRegionEnd(), std::max(whole_end, at + page_size));
      if (region.IsMapped() && region.IsExecutable() && !region.IsWritable() && is_shared_heap(region)) {
        if (!spans.empty() && spans.back().end >= at)
          spans.back().end = std::max(spans.back().end, end);
        else
          spans.push_back({at, end});
      }
      at = region.GetRegionEnd();
    }
  }
  return spans;
}

std::vector<CodeSpan> code_heaps(Session& session) {
  std::vector<CodeSpan> heaps;
  for (const RangeSection& section : session.runtime().code()->sections())
    if ((section.flags & RangeSection::code_heap) != 0 && section.r2r_module == 0)
      heaps.push_back({section.begin, section.end});
  return heaps;
}

CodePages::Outcome CodePages::make_writable(const std::vector<CodeSpan>& wanted, lldb::SBThread wished) {
  Outcome outcome;
  std::vector<CodeSpan> spans = not_writable(wanted);
  if (spans.empty()) return outcome;
  lldb::SBProcess process = target_.GetProcess();
  if (stands_at_fault(process)) {
    outcome.problem = "a thread stands at a signal";
    outcome.passing = true;
    return outcome;
  }
  lldb::SBThread thread = fit_thread(process, wished);
  if (!thread.IsValid()) {
    outcome.problem = "no thread can call mprotect now";
    return outcome;
  }
  outcome.problem = protect(spans, read_write_execute, thread);
  if (!outcome.problem.empty()) return outcome;
  outcome.spans = spans.size();
  changed_.insert(changed_.end(), spans.begin(), spans.end());
  return outcome;
}

void CodePages::restore(lldb::SBThread wished) {
  lldb::SBProcess process = target_.GetProcess();
  const std::vector<CodeSpan> spans = std::exchange(changed_, {});
  if (spans.empty() || stands_at_fault(process)) return;
  if (lldb::SBThread thread = fit_thread(process, wished); thread.IsValid())
    protect(spans, read_execute, thread);
}

std::string CodePages::protect(const std::vector<CodeSpan>& spans, int protection, lldb::SBThread& thread) {
  const lldb::addr_t function = mprotect_address();
  if (function == 0) return "no mprotect was found in the process";
  lldb::SBProcess process = target_.GetProcess();
  fill_pages_that_are_none(process);
  const OthersSuspended suspended(process, thread);
  for (std::size_t first = 0; first < spans.size(); first += max_in_call) {
    const std::size_t last = std::min(spans.size(), first + max_in_call);
    std::string text;
    for (std::size_t i = first; i < last; ++i)
      text += fmt::format("{}((int (*)(unsigned long, unsigned long, int)){:#x}ul)({:#x}ul, {:#x}ul, {})",
                          i == first ? "" : " | ", function, spans[i].begin, spans[i].end - spans[i].begin,
                          protection);
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    lldb::SBValue value = frame.EvaluateExpression(text.c_str(), call_options());
    if (value.GetError().Fail()) {
      const std::string why = error_line(value.GetError());
      return fmt::format("mprotect could not be called: {}", why.empty() ? "no reason given" : why);
    }
    if (value.GetValueAsSigned(-1) != 0) return "mprotect refuses";
  }
  return {};
}

} // namespace clr::lldb_plugin
