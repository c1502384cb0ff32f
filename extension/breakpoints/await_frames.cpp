#include "extension/breakpoints/await_frames.h"

#include "core/objects/object_reader.h"
#include "core/runtime/source_lines.h"
#include "extension/lldb/frame_line.h"

#include <algorithm>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
// Where MoveNext gets its machine; a CPU without a register of that name is not followed.
constexpr const char* argument_register = "rdi";

// The object that the variables of an async method live in, as its frames name it.
Address machine_of(lldb::SBFrame frame) {
  lldb::SBValue self = frame.FindVariable("$closure");
  if (!self.IsValid() || self.GetError().Fail()) return 0;
  lldb::SBType type = self.GetType();
  const bool points = type.IsPointerType() || type.IsReferenceType();
  return points ? self.GetValueAsUnsigned(0) : self.GetLoadAddress();
}

// A place on the straight way from `begin`, with no breakpoint of the debugger's own steps: these have them
// where lines begin, at jumps and behind calls. `begin` when there is none.
Address quiet_place(lldb::SBTarget& target, Address begin) {
  constexpr std::uint32_t looked_at = 8;
  lldb::SBInstructionList read = target.ReadInstructions(target.ResolveLoadAddress(begin), looked_at);
  Address at = begin;
  for (std::uint32_t i = 0; i < read.GetSize(); ++i) {
    lldb::SBInstruction instruction = read.GetInstructionAtIndex(i);
    if (at != begin && !instruction.DoesBranch()) {
      lldb::SBLineEntry line = target.ResolveLoadAddress(at).GetLineEntry();
      if (!line.IsValid() || line.GetStartAddress().GetLoadAddress(target) != at) return at;
    }
    if (instruction.DoesBranch()) break;
    at += instruction.GetByteSize();
  }
  return begin;
}

// Steps out have a breakpoint at the return address itself.
Address behind_call(lldb::SBThread& thread, Address slot) {
  lldb::SBProcess process = thread.GetProcess();
  lldb::SBTarget target = process.GetTarget();
  lldb::SBError error;
  const Address returned = process.ReadPointerFromMemory(slot, error);
  return error.Success() && returned != 0 ? quiet_place(target, returned) : 0;
}

// Frames below this one are of whatever was done before a method went on, or of nobody.
bool resumes_machines(lldb::SBFrame& frame) {
  const char* const name = frame.GetFunctionName();
  return name != nullptr && std::string_view(name).find("StateMachineBox") != std::string_view::npos;
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

std::optional<AwaitWatch::Body> AwaitFrames::body_of(Session& session, const CodeBlock& block,
                                                     const Method& method) {
  Runtime& runtime = session.runtime();
  const PortablePdb* const pdb = runtime.lines()->pdb_of(method.runtime_module);
  if (pdb == nullptr || method.token == 0) return std::nullopt;
  const auto async = pdb->async_method(method.token);
  if (!async) return std::nullopt;
  show_(session, block.start);
  AwaitWatch::Body body{.start = block.start,
                        .awaits = await_places(runtime.code()->regions(block),
                                               *runtime.lines()->debug_info().il_map(block), *async)};
  for (AwaitPlace& await : body.awaits)
    if (await.yield != 0) await.yield = quiet_place(target_, await.yield);
  return body;
}

// Compiled bodies of the methods of this name, which may be instantiations of one.
std::vector<AwaitWatch::Body> AwaitFrames::bodies_of(Session& session, const std::string& name) {
  Runtime& runtime = session.runtime();
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
    if (auto body = body_of(session, *block, runtime.describe(*block).method))
      bodies.push_back(std::move(*body));
  }
  return bodies;
}

// Nothing when the frame is of another method than an async one.
std::optional<AwaitWatch::Caller> AwaitFrames::caller_of(Session& session, lldb::SBFrame frame) {
  Runtime& runtime = session.runtime();
  const CodeLookup found = runtime.code()->find(frame.GetPC() - 1);
  const auto* const block = std::get_if<CodeBlock>(&found);
  if (block == nullptr || runtime.code()->is_funclet(*block)) return std::nullopt;
  const Method method = runtime.describe(*block).method;
  auto body = body_of(session, *block, method);
  if (!body) return std::nullopt;
  return AwaitWatch::Caller{.body = std::move(*body),
                            .table = method.method_table,
                            .cfa = frame.GetCFA(),
                            .line = frame.GetLineEntry().GetLine()};
}

std::optional<AwaitWatch::Step> AwaitFrames::step_of(lldb::SBThread& thread, bool out) {
  return unless_unreadable([&]() -> std::optional<AwaitWatch::Step> {
    const std::shared_ptr<Session> session = sessions_->at_stop();
    Runtime& runtime = session->runtime();
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    if (runtime.absence() != nullptr || !frame.FindRegister(argument_register).IsValid()) return std::nullopt;
    const CodeLookup found = runtime.code()->find(frame.GetPC());
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr || !has_line(frame)) return std::nullopt;
    // A handler has a frame of its own, in which no method waits.
    if (runtime.code()->is_funclet(*block)) return std::nullopt;
    const Method method = runtime.describe(*block).method;
    auto body = body_of(*session, *block, method);
    if (!body) return std::nullopt;
    AwaitWatch::Step step;
    step.thread = thread.GetThreadID();
    step.out = out;
    step.body = std::move(*body);
    step.cfa = frame.GetCFA();
    step.line = frame.GetLineEntry().GetLine();
    step.returned = behind_call(thread, step.cfa - sizeof(Address));
    step.machine.table = method.method_table;
    if (const auto machine = read(method.method_table, machine_of(frame))) step.machine = *machine;
    for (std::uint32_t i = 1; i < max_frames && !step.has_caller; ++i) {
      lldb::SBFrame caller = thread.GetFrameAtIndex(i);
      if (!caller.IsValid() || resumes_machines(caller)) break;
      step.has_caller = has_line(caller);
      if (step.has_caller) step.caller = caller_of(*session, caller);
    }
    return step;
  });
}

std::optional<AwaitWatch::Body> AwaitFrames::another_body(Address start, const AwaitWatch::Body& like) {
  return unless_unreadable([&]() -> std::optional<AwaitWatch::Body> {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    const CodeLookup made = runtime.code()->find(start), known = runtime.code()->find(like.start);
    const auto* const block = std::get_if<CodeBlock>(&made);
    const auto* const other = std::get_if<CodeBlock>(&known);
    if (block == nullptr || other == nullptr) return std::nullopt;
    const Method method = runtime.describe(*block).method;
    if (method.name != runtime.describe(*other).method.name) return std::nullopt;
    return body_of(*session, *block, method);
  });
}

bool AwaitFrames::is_replaceable(const AwaitWatch::Body& body) {
  return unless_unreadable([&] {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    const CodeLookup found = runtime.code()->find(body.start);
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr) return false;
    const Tier tier = runtime.describe(*block).code.tier;
    return tier != Tier::tier1 && tier != Tier::optimized && tier != Tier::minopts;
  });
}

std::optional<StateMachine> AwaitFrames::read(Address table, Address self) {
  return unless_unreadable([&]() -> std::optional<StateMachine> {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    if (runtime.objects() == nullptr) return std::nullopt;
    return StateMachines(*runtime.target(), runtime.objects()->layouts()).read(table, self);
  });
}

// A task gets its number when somebody asks for it, by one exchange of 0 for the number: written while all
// threads stand, it is the answer to whoever asks later. The thread that stopped runs managed code, so the
// garbage collector moves nothing meanwhile.
std::uint32_t AwaitFrames::mark(const StateMachine& machine, bool make) {
  return unless_unreadable([&]() -> std::uint32_t {
    Runtime& runtime = sessions_->after_short_run()->runtime();
    if (runtime.objects() == nullptr) return 0;
    const Address at = StateMachines(*runtime.target(), runtime.objects()->layouts()).task_number(machine);
    if (at == 0) return 0;
    // Several threads may have stopped at once: the session keeps what it read before this was written.
    lldb::SBProcess process = target_.GetProcess();
    lldb::SBError error;
    const std::uint64_t number = process.ReadUnsignedFromMemory(at, sizeof(std::uint32_t), error);
    if (error.Fail()) return 0;
    if (number != 0 || !make) return static_cast<std::uint32_t>(number);
    const std::uint32_t given = next_number_++;
    return process.WriteMemory(at, &given, sizeof(given), error) == sizeof(given) ? given : 0;
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
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    if (runtime.objects() == nullptr || machine.self == 0) return std::nullopt;
    TypeLayouts& layouts = runtime.objects()->layouts();
    const auto then = StateMachines(*runtime.target(), layouts).continuation(machine);
    if (!then) return std::nullopt;
    QualifiedMethodName move_next;
    move_next.declaring_type = layouts.of(then->table).name;
    move_next.method = "MoveNext";
    return AwaitWatch::Running{*then, bodies_of(*session, format_short_name(move_next))};
  });
}

std::vector<AwaitWatch::Body> AwaitFrames::bodies(const AwaitWatch::Body& body) {
  std::vector<AwaitWatch::Body> found = unless_unreadable([&]() -> std::vector<AwaitWatch::Body> {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    const CodeLookup at = runtime.code()->find(body.start);
    const auto* const block = std::get_if<CodeBlock>(&at);
    if (block == nullptr) return {};
    return bodies_of(*session, runtime.describe(*block).method.name);
  });
  if (std::ranges::find(found, body.start, &AwaitWatch::Body::start) == found.end()) found.push_back(body);
  return found;
}

std::vector<AwaitWatch::Line> lines_of(lldb::SBTarget target, Address place) {
  lldb::SBAddress here = target.ResolveLoadAddress(place);
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

Address AwaitVisitor::argument() {
  lldb::SBValue value = frame().FindRegister(argument_register);
  return value.IsValid() ? value.GetValueAsUnsigned(0) : 0;
}

std::optional<Address> AwaitVisitor::machine_of(std::uint64_t id, Address cfa) {
  lldb::SBThread thread = thread_->GetThreadID() == id ? *thread_ : thread_->GetProcess().GetThreadByID(id);
  for (std::uint32_t i = 0; i < AwaitFrames::max_frames && thread.IsValid(); ++i) {
    lldb::SBFrame found = thread.GetFrameAtIndex(i);
    if (!found.IsValid() || found.GetCFA() > cfa) break;
    if (found.GetCFA() == cfa) return lldb_plugin::machine_of(found);
  }
  return std::nullopt;
}

Address AwaitVisitor::behind_calls(Address begin) {
  constexpr std::uint32_t looked_at = 64;
  lldb::SBTarget target = thread_->GetProcess().GetTarget();
  lldb::SBInstructionList read = target.ReadInstructions(target.ResolveLoadAddress(begin), looked_at);
  Address at = begin, behind = 0;
  for (std::uint32_t i = 0; i < read.GetSize(); ++i) {
    lldb::SBInstruction instruction = read.GetInstructionAtIndex(i);
    const char* const text = instruction.GetMnemonic(target);
    const std::string_view mnemonic = text != nullptr ? text : "";
    if (mnemonic.starts_with("jmp") || mnemonic.starts_with("ret")) break;
    at += instruction.GetByteSize();
    if (mnemonic.starts_with("call")) behind = at;
  }
  return behind;
}

Address AwaitVisitor::behind_call(Address slot) {
  return lldb_plugin::behind_call(*thread_, slot);
}

std::vector<AwaitWatch::Line> AwaitVisitor::lines(Address at) {
  return lines_of(thread_->GetProcess().GetTarget(), at);
}

void AwaitVisitor::leave(std::uint64_t thread) {
  follow_(false);
  lldb::SBThread other = thread_->GetProcess().GetThreadByID(thread);
  if (other.IsValid()) end_(other);
}

} // namespace clr::lldb_plugin
