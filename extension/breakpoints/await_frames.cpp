#include "extension/breakpoints/await_frames.h"

#include "core/objects/object_reader.h"
#include "core/runtime/source_lines.h"
#include "extension/lldb/thread_plans.h"

#include <algorithm>

namespace clr::lldb_plugin {

namespace {
// The object that the variables of an async method live in, as its frames name it.
Address machine_of(lldb::SBFrame frame) {
  lldb::SBValue self = frame.FindVariable("$closure");
  if (!self.IsValid() || self.GetError().Fail()) return 0;
  lldb::SBType type = self.GetType();
  const bool points = type.IsPointerType() || type.IsReferenceType();
  return points ? self.GetValueAsUnsigned(0) : self.GetLoadAddress();
}

std::optional<AwaitWatch::Body> body_of(Runtime& runtime, const CodeBlock& block, const Method& method) {
  const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
  if (pdb == nullptr || method.token == 0) return std::nullopt;
  const auto async = pdb->async_method(method.token);
  if (!async) return std::nullopt;
  return AwaitWatch::Body{.start = block.start,
                          .awaits = await_places(runtime.code()->regions(block),
                                                 *runtime.lines()->debug_info().il_map(block), *async)};
}

// Compiled bodies of the methods of this name, which may be instantiations of one.
std::vector<AwaitWatch::Body> bodies_of(Runtime& runtime, const std::string& name) {
  std::vector<Address> starts;
  runtime.for_each_method({.glob = name, .r2r = false}, [&](const MethodRow& row) {
    if (row.method.name == name) starts.push_back(row.code.start);
    return true;
  });
  std::vector<AwaitWatch::Body> bodies;
  for (const Address start : starts) {
    const CodeLookup found = runtime.code()->find(start);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr) continue;
    if (auto body = body_of(runtime, *block, runtime.describe(*block).method))
      bodies.push_back(std::move(*body));
  }
  return bodies;
}

bool has_line(lldb::SBFrame& frame) {
  lldb::SBLineEntry line = frame.GetLineEntry();
  return line.IsValid() && line.GetLine() != 0;
}

template<typename Ask>
auto unless_unreadable(const Ask& ask) -> decltype(ask()) {
  try {
    return ask();
  } catch (const Error&) {
    return {};
  }
}
} // namespace

std::optional<AwaitWatch::Step> AwaitFrames::step_of(lldb::SBThread& thread, bool out) {
  return unless_unreadable([&]() -> std::optional<AwaitWatch::Step> {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    Runtime& runtime = session->runtime();
    // The places are found by registers of x64.
    if (runtime.absence() != nullptr || runtime.platform().cpu != Cpu::x64) return std::nullopt;
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    const CodeLookup found = runtime.code()->find(frame.GetPC());
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr || !has_line(frame)) return std::nullopt;
    const Method method = runtime.describe(*block).method;
    auto body = body_of(runtime, *block, method);
    if (!body) return std::nullopt;
    AwaitWatch::Step step;
    step.thread = thread.GetThreadID();
    step.out = out;
    step.body = std::move(*body);
    step.cfa = frame.GetCFA();
    step.line = frame.GetLineEntry().GetLine();
    step.machine.table = method.method_table;
    if (const auto machine = read(method.method_table, machine_of(frame))) step.machine = *machine;
    for (std::uint32_t i = 1; i < max_frames && !step.has_caller; ++i) {
      lldb::SBFrame caller = thread.GetFrameAtIndex(i);
      if (!caller.IsValid()) break;
      step.has_caller = has_line(caller);
    }
    return step;
  });
}

std::optional<StateMachine> AwaitFrames::read(Address table, Address self) {
  return unless_unreadable([&]() -> std::optional<StateMachine> {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    if (runtime.objects() == nullptr) return std::nullopt;
    return StateMachines(*runtime.target(), runtime.objects()->layouts()).read(table, self);
  });
}

bool AwaitFrames::is_done(const StateMachine& machine) {
  return unless_unreadable([&] {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    return runtime.objects() != nullptr &&
           StateMachines(*runtime.target(), runtime.objects()->layouts()).is_done(machine);
  });
}

std::optional<AwaitWatch::Running> AwaitFrames::continuation(const StateMachine& machine) {
  return unless_unreadable([&]() -> std::optional<AwaitWatch::Running> {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    if (runtime.objects() == nullptr || machine.self == 0) return std::nullopt;
    TypeLayouts& layouts = runtime.objects()->layouts();
    const auto then = StateMachines(*runtime.target(), layouts).continuation(machine);
    if (!then) return std::nullopt;
    QualifiedMethodName move_next;
    move_next.declaring_type = layouts.of(then->table).name;
    move_next.method = "MoveNext";
    return AwaitWatch::Running{*then, bodies_of(runtime, format_short_name(move_next))};
  });
}

std::vector<AwaitWatch::Body> AwaitFrames::bodies(const AwaitWatch::Body& body) {
  std::vector<AwaitWatch::Body> found = unless_unreadable([&]() -> std::vector<AwaitWatch::Body> {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    const CodeLookup at = runtime.code()->find(body.start);
    const auto* const block = std::get_if<CodeBlock>(&at);
    if (block == nullptr) return {};
    return bodies_of(runtime, runtime.describe(*block).method.name);
  });
  if (std::ranges::find(found, body.start, &AwaitWatch::Body::start) == found.end()) found.push_back(body);
  return found;
}

Address AwaitVisitor::argument() {
  lldb::SBValue value = frame().FindRegister("rdi");
  return value.IsValid() ? value.GetValueAsUnsigned(0) : 0;
}

Address AwaitVisitor::self() {
  return machine_of(frame());
}

std::vector<AwaitWatch::Line> AwaitVisitor::lines() {
  lldb::SBTarget target = thread_->GetProcess().GetTarget();
  lldb::SBFrame here = frame();
  lldb::SBFunction function = here.GetFunction();
  const Address begin = function.GetStartAddress().GetLoadAddress(target);
  const Address end = function.GetEndAddress().GetLoadAddress(target);
  lldb::SBCompileUnit unit = here.GetCompileUnit();
  std::vector<AwaitWatch::Line> lines;
  for (std::uint32_t i = 0; i < unit.GetNumLineEntries(); ++i) {
    lldb::SBLineEntry entry = unit.GetLineEntryAtIndex(i);
    const Address at = entry.GetStartAddress().GetLoadAddress(target);
    if (at >= begin && at < end) lines.push_back({at, entry.GetLine()});
  }
  return lines;
}

void AwaitVisitor::end_steps(std::uint64_t thread) {
  lldb::SBThread other = thread_->GetProcess().GetThreadByID(thread);
  if (other.IsValid()) lldb_plugin::end_steps(other);
}

} // namespace clr::lldb_plugin
