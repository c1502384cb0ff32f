// Stacks of a damaged runtime: its threads, explicit Frames and exceptions, and walks that go through them.
#include "core/stack/argument_map.h"
#include "core/stack/exceptions.h"
#include "core/stack/interpreted_methods.h"
#include "core/stack/interrupted_code.h"
#include "core/stack/stack_roots.h"
#include "core/stack/threads.h"
#include "core/stack/unwind_report.h"
#include "core/stack/walker.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/stack/walker_runtime.h"
#include "tests/support/gc_info_builder.h"

using namespace clr;
using namespace clr::fuzz;

namespace {

constexpr std::size_t most_frames = 200, most_exceptions = 8;

// What holds of every walk.
void check(const std::vector<StackFrame>& frames, const stack::Walk& walk) {
  std::optional<Address> last;
  for (const StackFrame& frame : frames) {
    if (frame.kind == StackFrameKind::runtime) continue;
    // Only a fault or a signal changes the stack; the code that it interrupted runs next.
    const bool follows_fault = frame.found_by == FoundBy::runtime_frame || frame.leaf;
    require(!last || follows_fault || frame.sp() >= *last, "the stack pointer grows with every frame");
    last = frame.sp();
  }
  require(walk.end != WalkEnd::failed || !walk.reason.empty(), "a walk that fails says why");
}

// Each method takes an object, a structure on the stack and a byref; then what every convention passes in a
// way of its own, and more of each than there are registers.
class SomeShapes final : public CallShapes {
public:
  SomeShapes() {
    using Kind = ArgumentShape::Kind;
    shapes_ = {{.size = 8, .references = {{}}},
               {.kind = Kind::structure, .size = 24, .references = {{16}}},
               {.size = 8, .references = {{.interior = true}}},
               {.kind = Kind::structure, .size = 16, .equal_reals = 2},
               {.kind = Kind::structure, .size = 16, .references = {{}, {8}}, .memory_only = true},
               {.kind = Kind::structure, .size = 16, .references = {{8}}, .real_words = 1}};
    constexpr unsigned more_than_registers = 10;
    for (unsigned i = 0; i < more_than_registers; ++i) shapes_.push_back({.kind = Kind::real, .size = 8});
    shapes_.push_back({.kind = Kind::structure, .size = 16, .equal_reals = 4});
    for (unsigned i = 0; i < more_than_registers; ++i)
      shapes_.push_back({.kind = Kind::structure, .size = 16, .references = {{}}});
  }
  const std::vector<ArgumentShape>& of(Address, bool) override { return shapes_; }

private:
  std::vector<ArgumentShape> shapes_;
};

void read_roots(const Target& target, ExecutionManager& code, const RuntimeThread* thread,
                const std::vector<StackFrame>& frames) {
  SomeShapes shapes;
  StackRoots roots(target, code, &shapes);
  const StackRoots::Visit visit = [](const FrameRoots& frame) {
    for (const StackRoot& root : frame.roots) {
      require(root.value != 0, "null is no root");
      require(root.address.has_value() != root.slot.reg.has_value(), "a root is a register or a word");
    }
    return true;
  };
  roots.begin(visit, thread);
  for (const StackFrame& frame : frames) roots.add(frame);
  require(roots.finish().size() <= StackRoots::max_notes, "notes are bounded");
}

void read_chain(const Target& target, Address head) {
  const FrameChain chain(target);
  const FrameChain::Result frames = chain.read(head, std::nullopt, std::nullopt);
  Address last = 0;
  for (const ExplicitFrame& frame : frames.frames) {
    require(frame.address > last, "the addresses of Frames grow");
    last = frame.address;
    attempt([&] { chain.context(frame); });
    attempt([&] { chain.active(frame); });
    attempt([&] { chain.method_desc(frame); });
    to_string(frame.kind);
  }
}

void read_exceptions(const Target& target, const RuntimeThread& thread) {
  ExceptionReader reader(target, [](Address) -> std::string { return "Ns.Oops"; });
  const ExceptionReader::InFlight flight = reader.in_flight(thread.exception_tracker);
  std::size_t left = most_exceptions;
  for (const Address object : flight.objects) {
    if (left-- == 0) break;
    attempt([&] {
      const ManagedException exception = reader.read(object);
      if (exception.inner != 0) reader.read(exception.inner);
    });
  }
  attempt([&] {
    if (thread.last_thrown != 0) reader.read(thread.last_thrown);
  });
}

// Native code over M3, a callback, native code over M2, a fault in M1, M0: as the tests of the walker have
// it.
class BuiltStack final : public Scene {
public:
  explicit BuiltStack(Cpu cpu) : built_(cpu) {
    built_.frame(0x200, built_.native_return);
    built_.inlined_call(0x240, built_.in(3), 0x200, built_.at(0x640));
    built_.frame(0x600, built_.native_return);
    built_.inlined_call(0x640, built_.in(2), 0x600, built_.at(0x800));
    built_.faulting(0x800, built_.in(1, 0x44), 0x1000, built_.at(0x1400));
    built_.frame(0x1000, built_.native_return);
    built_.prestub(0x1400, built_.in(0), 0x1800, built_.at(0x1a00));
    built_.frame(0x1800, built_.native_return);
    built_.software(0x1a00, built_.in(3), 0x2200, built_.at(0x2800));
    built_.frame(0x2200, built_.native_return);
    // One of every other kind: what they hold is found by the edits.
    constexpr unsigned kinds = 18;
    for (unsigned kind = 1; kind <= kinds; ++kind)
      built_.explicit_frame(0x2800 + 0x80 * (kind - 1), kind,
                            kind == kinds ? built_.end_of_chain : built_.at(0x2800 + 0x80 * kind));
    // A stub, which has no frame of its own, above M2.
    built_.memory().at(stub - 8).fill(0x80);
    built_.execution.stub(built_.heap(), stub, 0x40, 6);
    built_.memory().at(built_.at(stub_sp)).u64(built_.in(2));
    // A jump to another method, as at the end of an epilogue.
    if (cpu == Cpu::x64) built_.memory().at(built_.in(1, jump)).bytes({0xe9, 0xfb, 0x01, 0, 0});
    // A return address that the runtime has hijacked: the slot and what was in it, on either side.
    const Address slot = built_.at(built_.return_slot(0x1000));
    built_.memory().at(built_.thread_address + 0x40).u64(slot + 0x500).u64(built_.in(3));
    built_.memory().at(built_.thread_address + 0x80).u64(slot).u64(built_.in(0));
    // A reference, an interior one, and one behind the words of the registers.
    built_.memory().at(built_.at(many_arguments)).bytes({0xb9, 0x8f, 0x01, 0x47, 0x00});
    // A GCFrame that protects two words.
    built_.memory().at(built_.thread_address + 0x2B0).u64(built_.at(0x40));
    built_.memory()
        .at(built_.at(0x40))
        .u64(built_.end_of_chain)
        .u64(built_.thread_address)
        .u64(built_.at(0x1000))
        .u32(2)
        .u32(0);
    ContractDescriptor descriptor = built_.execution.types().contract_descriptor();
    const Platform platform = descriptor.platform;
    set_up(built_.memory(), std::move(descriptor), platform);
  }

  unsigned parts() const override { return 8; }
  void ask(const Target& target, unsigned part) override {
    if (part == 4) {
      interrupted_codes(target);
      for (const Address map : {Address{0x208}, many_arguments})
        attempt([&] { read_argument_map(target, built_.at(map)); });
      return read_chain(target, built_.thread.frame);
    }
    built_.thread.state = part == 3 ? thread_state::return_address_hijacked : 0;
    RegisterContext start = part == 5   ? built_.registers(stub + 4, stub_sp)
                            : part == 6 ? built_.registers(built_.in(1, jump), 0x1000)
                            : part == 2 ? built_.registers(built_.in(1, 4), 0x1000)
                                        : built_.registers(part == 1 ? built_.in(3) : built_.native_code,
                                                           part == 1 ? 0x200 : 0x80);
    // Of a CPU that returns by the stack that register is the program counter.
    if (part == 5 && !start.architecture().returns_by_stack())
      start.set(start.architecture().roles.return_address, built_.in(2));
    start.set_fp(built_.at(part == 5 ? Address{0x1c00} : *start.sp() - built_.stack));
    if (part == 7) start = RegisterContext(start.cpu()); // a thread whose registers are not known
    const test::WalkedStack walked =
        built_.walk(target.memory(), target.descriptor(), start, {.max_frames = most_frames});
    check(walked.frames, walked.walk);
    ExecutionManager code(target);
    read_roots(target, code, &built_.thread, walked.frames);
  }

  std::vector<Damage> damages() override {
    const Address gc_frame = built_.at(0x40), caller = built_.at(built_.return_slot(0x200));
    const Address call_site = built_.at(0x240 + 24); // the stack pointer of an InlinedCallFrame
    return {{.name = "gc-frames-loop", .edits = {{.at = gc_frame, .value = gc_frame}}},
            {.name = "gc-frames-torn", .edits = {{.at = gc_frame, .value = gc_frame + 4}}},
            // A call that never returns ends its method.
            {.name = "call-at-end",
             .part = 1,
             .edits = {{.at = caller, .value = built_.in(0, built_.method_size)}}},
            {.name = "stack-shrinks", .edits = {{.at = call_site, .value = built_.at(0x10)}}},
            {.name = "same-stack", .edits = {{.at = call_site, .value = built_.at(0x80)}}}};
  }

private:
  static constexpr Address jump = 0x60, many_arguments = 0x3f00;
  static constexpr Address stub = test::WalkerRuntime::code + 0x2000, stub_sp = 0x1bf8;
  test::WalkerRuntime built_;
};

// Stacks through code of which nothing says how to leave it: that of an image which the target lacks, the
// stub of a hijacked return, and one that the runtime lists nowhere. Above them M1 and M0, whose slots lie at
// every base that there is.
class UnlistedCode final : public Scene {
public:
  explicit UnlistedCode(Cpu cpu) : built_(cpu) {
    built_.list_unread_image();
    for (const unsigned index : {0u, 1u, 2u}) {
      built_.add_call(index);
      built_.header_word(index, "GCInfo", built_.memory().place(test::gc_info_bytes(slots(cpu))));
    }
    frame_leads(0x000, built_.at(0x110), built_.in(1));
    built_.memory().at(built_.at(0x480)).u64(built_.at(0x500)).u64(built_.in_unread);
    built_.memory().at(built_.at(0x500)).u64(built_.at(0x510)).u64(built_.in(1));
    callers(0x510);
    // It has no frame pointer: that of M1 is still in its register.
    frame_leads(0x800, 0x1234, built_.in(1));
    built_.memory().at(built_.at(0x8C0 + 40)).u64(built_.at(0xA00));
    frame_leads(0xC00, built_.at(0xD10), built_.in(1) + 8); // no call ends there
    // A Frame that leads to managed code before the frame pointer does.
    frame_leads(0x1000, built_.at(0x1250), 0);
    built_.memory().at(built_.at(0x10C8)).u64(built_.at(0x11C0));
    built_.inlined_call(0x11C0, built_.in(0), 0x1210);
    built_.frame(0x1500, built_.in(1));
    built_.hijack(0x1400, 0x1500);
    callers(0x1600);
    built_.memory().at(built_.at(0x1800)).u64(built_.in(1));
    callers(0x1808);
    ContractDescriptor descriptor = built_.execution.types().contract_descriptor();
    const Platform platform = descriptor.platform;
    set_up(built_.memory(), std::move(descriptor), platform);
  }

  unsigned parts() const override { return static_cast<unsigned>(std::size(starts)); }
  void ask(const Target& target, unsigned part) override {
    const auto& [sp, frame] = starts[part];
    built_.thread.frame = frame != 0 ? built_.at(frame) : built_.end_of_chain;
    RegisterContext start = built_.registers(built_.native_code + (part == hijacked ? 0x10 : 0), sp);
    const RegisterRoles& roles = start.architecture().roles;
    if (part == unlisted) {
      start.set_fp(built_.at(0x1808));
      if (!start.architecture().returns_by_stack()) {
        start.set(roles.return_address, built_.in(1));
        start.set_sp(built_.at(0x1808));
      }
    }
    const test::WalkedStack walked =
        built_.walk(target.memory(), target.descriptor(), start, {.max_frames = most_frames});
    check(walked.frames, walked.walk);
    ExecutionManager code(target);
    read_roots(target, code, &built_.thread, walked.frames);
  }

private:
  static constexpr unsigned hijacked = 5, unlisted = 6;
  // Where the stack of each part begins, and its first Frame.
  static constexpr std::pair<Address, Address> starts[] = {{0x080, 0x0C0}, {0x480, 0},       {0x880, 0x8C0},
                                                           {0xC80, 0xCC0}, {0x1080, 0x10C0}, {0x1440, 0x1400},
                                                           {0x1800, 0}};

  static test::GcInfoSpec slots(Cpu cpu) {
    return {.cpu = cpu,
            .length = test::WalkerRuntime::method_size,
            .fat = true,
            .frame_register = true,
            .stack = {{.base = 0, .offset = -0x20}, {.base = 1, .offset = 0x10}, {.base = 2, .offset = 0x40}},
            .untracked = {{.base = 0, .offset = -0x28}},
            .safe_points = {{.offset = 0x20, .live = {0, 1, 2}}}};
  }
  // A call of missing code at `part` + 0x100, whose frame begins with these words.
  void frame_leads(Address part, Address fp, Address return_address) {
    built_.inlined_call(part + 0xC0, built_.in_unread, part + 0x100);
    built_.memory().at(built_.at(part + 0x100)).u64(fp).u64(return_address);
    callers(part + 0x110);
  }
  // M1 and M0; each word below is another one.
  void callers(Address sp) {
    for (const Address frame : {sp, sp + built_.frame_size}) {
      for (Address word = 0x10; word < built_.frame_size; word += 8)
        built_.memory().at(built_.at(frame + word)).u64(built_.at(frame + word) + 1);
      built_.frame(frame, frame == sp ? built_.in(0) : 0);
    }
  }

  test::WalkerRuntime built_;
};

// Methods that the interpreter executes, above M2 to M0.
class InterpretedStack final : public Scene {
public:
  explicit InterpretedStack(Cpu cpu) : built_(cpu) {
    const Address byte_code = built_.add_byte_code();
    built_.frame(0x400, built_.in(1));
    built_.frame(0x500, built_.in(0));
    built_.frame(0x600, built_.native_return);
    for (unsigned i = 0; i < 3; ++i)
      built_.interpreted(node(i), byte_code + 0x10 * i, i < 2 ? node(i + 1) : 0);
    built_.execution.types().set(node(0), "InterpMethodContextFrame", "StartIp", built_.at(0x3800));
    built_.interpreter(0x200, built_.in(2), 0x400, node(0));
    ContractDescriptor descriptor = built_.execution.types().contract_descriptor();
    const Platform platform = descriptor.platform;
    set_up(built_.memory(), std::move(descriptor), platform);
    byte_code_ = byte_code;
    // A node that is no longer in use may be the runtime's hint.
    hint_ = built_.at(0x3300);
    built_.interpreted(hint_, 0, node(0));
  }

  // As a debugger has it, with a method's node in place of the stack pointer; in the interpreter itself; the
  // list from another node.
  unsigned parts() const override { return 4; }
  void ask(const Target& target, unsigned part) override {
    built_.thread.frame = built_.at(0x200);
    RegisterContext start = built_.registers(built_.native_code, 0x80);
    if (part < 2) {
      start = RegisterContext(built_.registers(0, 0).cpu());
      start.set_pc(byte_code_ + 0x10 * part);
      start.set_sp(node(part));
      start.set_fp(0x7000);
    }
    const auto argument = first_argument_register(start.architecture());
    if (argument && part != 2) start.set(*argument, built_.at(0x200));
    if (part == 3) {
      EditedMemory other(target.memory(), {{.at = built_.at(0x200 + 32), .value = hint_}},
                         target.platform().byte_order);
      const Target from_hint(other, target.descriptor(), target.platform());
      const InterpretedMethods list = interpreted_methods(from_hint, built_.at(0x200));
      require(list.methods.size() <= max_interpreted_methods, "interpreted methods are bounded");
    }
    const test::WalkedStack walked =
        built_.walk(target.memory(), target.descriptor(), start, {.max_frames = most_frames});
    ExecutionManager code(target);
    read_roots(target, code, &built_.thread, walked.frames);
  }

private:
  Address node(unsigned number) const { return built_.at(0x3000 + 0x100 * number); }
  test::WalkerRuntime built_;
  Address byte_code_ = 0, hint_ = 0;
};

class RecordedStacks final : public RecordedScene {
public:
  explicit RecordedStacks(const std::string& name) : RecordedScene(name) {}

  unsigned parts() const override { return static_cast<unsigned>(recorded_.core->threads().size()) + 1; }
  void ask(const Target& target, unsigned part) override {
    ThreadList list;
    attempt([&] { list = read_threads(target); });
    if (part == recorded_.core->threads().size()) {
      for (const RuntimeThread& thread : list.threads) {
        if (thread.state) state_words(*thread.state);
        attempt([&] { read_exceptions(target, thread); });
        attempt([&] { read_chain(target, thread.frame); });
      }
      const auto context = target.find_offset("FaultingExceptionFrame", "TargetContext");
      for (const InterruptedCode& code : interrupted_codes(target).codes) {
        code.on_same_stack();
        // Without the byte that the registers begin with, the Frame is no less a Frame.
        EditedMemory torn(target.memory(),
                          {{.width = 0, .at = code.frame + static_cast<Address>(context.value_or(0))}},
                          target.platform().byte_order);
        interrupted_codes(Target(torn, target.descriptor(), target.platform()));
      }
      return;
    }
    const ThreadRegisters& registers = recorded_.core->threads()[part];
    const auto thread = std::ranges::find_if(
        list.threads, [&](const RuntimeThread& t) { return t.os_id == registers.os_id; });
    ExecutionManager code(target);
    NativeUnwinder native(target.memory(), recorded_.platform, recorded_.modules);
    StackWalker walker(&target, &code, native);
    std::vector<StackFrame> frames;
    const stack::Walk walk =
        walker.walk(recorded_.registers_of(registers), thread == list.threads.end() ? nullptr : &*thread,
                    [&](const StackFrame& frame) {
                      frames.push_back(frame);
                      return true;
                    },
                    {.max_frames = most_frames});
    check(frames, walk);
    // One that the caller has seen enough of.
    const stack::Walk left =
        walker.walk(recorded_.registers_of(registers), thread == list.threads.end() ? nullptr : &*thread,
                    [](const StackFrame&) { return false; });
    require(frames.empty() || left.end == WalkEnd::stopped, "a walk stops when it is told to");
    read_roots(target, code, thread == list.threads.end() ? nullptr : &*thread, frames);
    for (const StackFrame& frame : frames) {
      attempt([&] {
        if (frame.code)
          describe_layout(recorded_.platform.cpu, report_unwind(code, *frame.code).layout);
        else if (frame.pc() != 0)
          report_unwind(native, recorded_.platform.cpu, frame.lookup_pc());
      });
    }
  }
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) all.push_back(std::make_unique<BuiltStack>(cpu));
  all.push_back(std::make_unique<RecordedStacks>("gallery-arm64"));
  all.push_back(std::make_unique<RecordedStacks>("gallery-x64"));
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) all.push_back(std::make_unique<InterpretedStack>(cpu));
  all.push_back(std::make_unique<RecordedStacks>("gallery11-x64"));
  all.push_back(std::make_unique<RecordedStacks>("stuck-x64"));
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) all.push_back(std::make_unique<UnlistedCode>(cpu));
  return all;
}
