#include "extension/breakpoints/managed_throws.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"
#include "core/objects/object_reader.h"
#include "core/report/exception_report.h"
#include "core/types/name_format.h"
#include "extension/lldb/frame_line.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// Between a throw and the code that has thrown: some frames of the runtime's.
constexpr std::uint32_t max_frames_of_throw = 16;
constexpr Address table_mask = ~Address{7}; // the collector marks objects in the lowest bits

std::uint64_t first_argument(lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  for (const char* const name : {"rdi", "x0"}) {
    lldb::SBValue value = frame.FindRegister(name);
    if (value.IsValid()) return value.GetValueAsUnsigned(0);
  }
  return 0;
}

Address table_of(Session& session, Address object) {
  std::array<std::byte, sizeof(Address)> raw{};
  session.memory().read(object, raw);
  return load<std::uint64_t>(raw, session.runtime().platform().byte_order) & table_mask;
}

std::vector<std::string> lineage_of(Session& session, Address table) {
  std::vector<std::string> names;
  try {
    for (; table != 0 && names.size() < TypeLayouts::max_base_types;) {
      const TypeLayout& layout = session.runtime().objects()->layouts().of(table);
      names.push_back(format_type(*layout.name));
      table = layout.table.parent;
    }
  } catch (const Error&) {
    names.clear();
  }
  return names;
}

// The innermost frame with a line of source.
std::uint32_t thrower_of(lldb::SBThread& thread) {
  for (std::uint32_t i = 1; i < max_frames_of_throw; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid()) break;
    if (has_line(frame)) return i;
  }
  return 0;
}
} // namespace

bool ManagedThrows::can_stop(Runtime& runtime) {
  bool found = false;
  runtime.for_each_method({.glob = ThrownExceptions::thrower, .jitted = true, .r2r = true},
                          [&](const MethodRow&) {
                            found = true;
                            return false;
                          });
  return found;
}

Address ManagedThrows::thrown_by(Session& session, lldb::SBThread& thread) {
  const Address pc = thread.GetFrameAtIndex(0).GetPC();
  const CodeLookup found = session.runtime().code()->find(pc);
  const auto* const block = std::get_if<CodeBlock>(&found);
  const bool throws =
      block != nullptr && block->start == pc &&
      session.runtime().describe(*block).method.full_name.starts_with(ThrownExceptions::thrower);
  return throws ? first_argument(thread) : 0;
}

// The argument is where it was passed only at the method's first instruction, and LLDB's API has no way to
// say so.
lldb::SBBreakpoint ManagedThrows::make(const std::string& type) {
  const OwnAnswer made =
      run_own(target_.GetDebugger(), fmt::format("breakpoint set --skip-prologue false --name {} --name {}",
                                                 ThrownExceptions::thrower, ThrownExceptions::faulter));
  if (!made.succeeded || target_.GetNumBreakpoints() == 0) return {};
  lldb::SBBreakpoint breakpoint = target_.GetBreakpointAtIndex(target_.GetNumBreakpoints() - 1);
  types_.add(breakpoint.GetID(), type);
  hit_.attach(breakpoint);
  return breakpoint;
}

bool ManagedThrows::throws_by_fault(Session& session, Address pc) {
  if (const auto known = by_fault_.find(pc); known != by_fault_.end()) return known->second;
  const CodeLookup found = session.runtime().code()->find(pc);
  const auto* const block = std::get_if<CodeBlock>(&found);
  const bool by_fault = block != nullptr && session.runtime().describe(*block).method.full_name.starts_with(
                                                ThrownExceptions::faulter);
  by_fault_[pc] = by_fault;
  return by_fault;
}

bool ManagedThrows::stops(lldb::SBThread& thread, lldb::break_id_t id) {
  Thrown thrown{.thread = thread.GetThreadID(), .stop = 0, .object = 0, .type = {}};
  bool meant = true;
  try {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    if (session->runtime().absence() != nullptr) return true;
    const std::uint64_t argument = first_argument(thread);
    if (throws_by_fault(*session, thread.GetFrameAtIndex(0).GetPC())) {
      const auto number = static_cast<std::uint32_t>(argument);
      meant = types_.means_fault(id, number);
      const auto names = ThrownExceptions::of_fault(number);
      if (!names.empty()) thrown.type = names.front();
    } else {
      thrown.object = argument;
      meant = types_.means(id, table_of(*session, argument),
                           [&](Address table) { return lineage_of(*session, table); });
    }
  } catch (const Error&) {
    // What cannot be read is shown to the user.
  }
  if (!meant) return false;
  thrown.stop = target_.GetProcess().GetStopID();
  thrown_ = std::move(thrown);
  return true;
}

std::string ManagedThrows::text_of(Session& session) const {
  if (thrown_.object == 0)
    return thrown_.type.empty() ? "a fault that becomes an exception"
                                : fmt::format("a fault that becomes a {}", thrown_.type);
  const ManagedException exception = ExceptionReporter(session.runtime()).read(thrown_.object).exception;
  std::string text = exception.type.value_or("an exception");
  if (exception.message) text += ": " + printable(*exception.message);
  return text + fmt::format(" (clr object {:#x})", thrown_.object);
}

void ManagedThrows::at_stop() {
  lldb::SBProcess process = target_.GetProcess();
  const Thrown thrown = thrown_;
  if (thrown.thread == 0 || thrown.stop != process.GetStopID()) return;
  lldb::SBThread thread = process.GetThreadByID(thrown.thread);
  if (!thread.IsValid() || thread.GetStopReason() != lldb::eStopReasonBreakpoint) return;
  std::string text;
  try {
    text = text_of(*sessions_->at_stop());
  } catch (const Error& error) {
    text = fmt::format("an exception at {:#x} that cannot be read: {}", thrown.object, error.what());
  }
  const std::uint32_t thrower = thrower_of(thread);
  if (thrower != 0) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(thrower);
    lldb::SBLineEntry line = frame.GetLineEntry();
    const char* const file = line.GetFileSpec().GetFilename();
    text +=
        fmt::format(", thrown in frame #{}, {}:{}", thrower, file != nullptr ? file : "?", line.GetLine());
    thread.SetSelectedFrame(thrower);
  }
  notice(target_.GetDebugger(), text);
  thrown_ = {};
}

} // namespace clr::lldb_plugin
