// Walks of synthetic threads, frame by frame. The form of a real thread's stack follows dotnet/runtime
// docs/design/datacontracts/StackWalk.md.
#include "core/stack/hijack.h"
#include "tests/stack/walker_runtime.h"

using namespace clr;
using namespace clr::test;
using Lines = std::vector<std::string>;

namespace {

// M2 called by M1 called by M0, which the thread began with; M2's stack pointer is at `sp`.
void add_chain(WalkerRuntime& runtime, Address sp) {
  runtime.frame(sp, WalkerRuntime::in(1));
  runtime.frame(sp + 0x100, WalkerRuntime::in(0));
  runtime.frame(sp + 0x200, 0);
}

} // namespace

TEST_CASE("a chain of managed frames reaches the bottom", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x100);
  const WalkedStack walked = runtime.walk(runtime.registers(runtime.in(2, 0x30), 0x100));
  CHECK(runtime.lines(walked) ==
        Lines{"M2+30 @100 context leaf", "M1+20 @200 unwind_info", "M0+20 @300 unwind_info"});
  CHECK(walked.walk.end == WalkEnd::bottom);
  CHECK(walked.walk.reason.empty());
  CHECK(walked.walk.notes.empty());
  REQUIRE(walked.frames.size() == 3);
  for (unsigned i = 0; i < 3; ++i) CHECK(walked.frames[i].method_desc == runtime.method_desc(2 - i));
  CHECK(walked.frames[0].lookup_pc() == runtime.in(2, 0x30));
  CHECK(walked.frames[1].lookup_pc() == runtime.in(1) - 1);
  SECTION("a limit and a visitor that asks to stop end it") {
    const WalkedStack two = runtime.walk(runtime.registers(runtime.in(2), 0x100), {.max_frames = 2});
    CHECK(two.frames.size() == 2);
    CHECK(two.walk.end == WalkEnd::limit);
    CHECK(two.walk.reason == "stopped after 2 frames");
  }
}

TEST_CASE("the first and the last instructions of a method have another frame", "[walker]") {
  WalkerRuntime runtime(Cpu::x64);
  add_chain(runtime, 0x100);
  SECTION("entry: only the return address is on the stack") {
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.in(2, 0), runtime.return_slot(0x100)));
    CHECK(runtime.lines(walked) ==
          Lines{"M2+0 @1f8 context leaf", "M1+20 @200 unwind_info", "M0+20 @300 unwind_info"});
  }
  SECTION("pop rbp; ret") {
    runtime.memory().at(runtime.in(2, 0x70)).bytes({0x5D, 0xC3});
    const WalkedStack walked =
        runtime.walk(runtime.registers(runtime.in(2, 0x70), runtime.return_slot(0x100) - 8));
    CHECK(runtime.lines(walked) ==
          Lines{"M2+70 @1f0 context leaf", "M1+20 @200 unwind_info", "M0+20 @300 unwind_info"});
  }
}

TEST_CASE("native code is left through the InlinedCallFrame of its call", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x200);
  runtime.inlined_call(0x240, runtime.in(2), 0x200);
  const RegisterContext start = runtime.registers(runtime.native_code, 0x80);
  const WalkedStack walked = runtime.walk(start);
  // The Frame lies in the frame of the method that calls, and comes before it.
  CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "InlinedCallFrame @240",
                                       "M2+20 @200 runtime_frame", "M1+20 @300 unwind_info",
                                       "M0+20 @400 unwind_info"});
  CHECK(walked.walk.end == WalkEnd::bottom);
  REQUIRE(walked.frames.size() == 5);
  CHECK(walked.frames[1].method_desc == 0xAB'0008u);
  CHECK(walked.frames[1].pc() == 0);
  SECTION("one that is not active leads nowhere") {
    runtime.inlined_call(0x240, 0, 0x200);
    const WalkedStack cut = runtime.walk(start);
    REQUIRE_FALSE(cut.frames.empty());
    CHECK(cut.walk.end == WalkEnd::failed);
    CHECK_FALSE(cut.walk.reason.empty());
    for (const StackFrame& frame : cut.frames) CHECK_FALSE(frame.code);
    // The Frames on the thread's chain are shown all the same.
    CHECK(runtime.line(cut.frames.back()) == "InlinedCallFrame @240");
  }
}

TEST_CASE("without registers a walk begins at the first Frame that says where code goes on", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x200);
  // The newer one, with which the thread's chain begins, is of a call that is not under way.
  runtime.inlined_call(0x210, 0, 0x200, runtime.at(0x240));
  runtime.inlined_call(0x240, runtime.in(2), 0x200);
  const WalkedStack walked = runtime.walk(RegisterContext(cpu));
  CHECK(runtime.lines(walked) == Lines{"InlinedCallFrame @210", "InlinedCallFrame @240",
                                       "M2+20 @200 runtime_frame", "M1+20 @300 unwind_info",
                                       "M0+20 @400 unwind_info"});
  CHECK(walked.walk.end == WalkEnd::bottom);
  REQUIRE(walked.walk.notes.size() == 1);
  CHECK(walked.walk.notes.front().starts_with("the thread's registers are not known: "));
  SECTION("with registers it begins at them") {
    const WalkedStack usual = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(usual).front() == "N 50000000 @80 context leaf");
    CHECK(usual.walk.notes.empty());
  }
}

TEST_CASE("a context in byte code begins behind the Frame that its first argument names", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x400);
  const Address byte_code = runtime.add_byte_code();
  const std::array<Address, 3> nodes{runtime.at(0x3000), runtime.at(0x3100), runtime.at(0x3200)};
  for (unsigned i = 0; i < nodes.size(); ++i)
    runtime.interpreted(nodes[i], byte_code + 0x10 * i, i + 1 < nodes.size() ? nodes[i + 1] : 0);
  runtime.interpreter(0x200, runtime.in(2), 0x400, nodes[0]);
  // As a debugger has it: the method's node in place of the stack pointer.
  const auto context = [&](unsigned node, Address frame) {
    RegisterContext registers(cpu);
    registers.set_pc(byte_code + 0x10 * node);
    registers.set_sp(nodes[node]);
    registers.set_fp(0x7000);
    registers.set(cpu == Cpu::x64 ? x64_register::rdi : arm64_register::x0, frame);
    return registers;
  };
  const Lines below{"M2+20 @400 runtime_frame", "M1+20 @500 unwind_info", "M0+20 @600 unwind_info"};
  const auto methods_of = [&](unsigned first) {
    Lines lines{"InterpreterFrame @200"};
    for (unsigned i = first; i < nodes.size(); ++i)
      lines.push_back(fmt::format("I{:x} @{:x} runtime_frame", 0x10 * i, nodes[i] - runtime.stack));
    lines.insert(lines.end(), below.begin(), below.end());
    return lines;
  };
  const auto walked_lines = [&](const RegisterContext& start) {
    const WalkedStack walked = runtime.walk(start);
    CHECK(walked.walk.end == WalkEnd::bottom);
    CHECK(walked.walk.notes.empty());
    return runtime.lines(walked);
  };
  CHECK(walked_lines(context(0, runtime.at(0x200))) == methods_of(0));
  CHECK(walked_lines(context(1, runtime.at(0x200))) == methods_of(1));
  SECTION("registers in the interpreter itself: the Frame, and all its methods") {
    Lines expected{"N 50000000 @80 context leaf", "InterpreterFrame @200", "I0 @3000 runtime_frame",
                   "I10 @3100 runtime_frame", "I20 @3200 runtime_frame"};
    expected.insert(expected.end(), below.begin(), below.end());
    RegisterContext loop = runtime.registers(runtime.native_code, 0x80);
    CHECK(walked_lines(loop) == expected);
    // Its function has the Frame as an argument, too.
    loop.set(cpu == Cpu::x64 ? x64_register::rdi : arm64_register::x0, runtime.at(0x200));
    CHECK(walked_lines(loop) == expected);
  }
}

TEST_CASE("two stretches of native code, each left through its own Frame", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  // M3 was called back by native code that M2 had called.
  runtime.frame(0x200, runtime.native_return);
  runtime.inlined_call(0x240, runtime.in(3), 0x200, runtime.at(0x640));
  add_chain(runtime, 0x600);
  runtime.inlined_call(0x640, runtime.in(2), 0x600);
  const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
  CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "InlinedCallFrame @240",
                                       "M3+20 @200 runtime_frame", "N 50000020 @300 unwind_info",
                                       "InlinedCallFrame @640", "M2+20 @600 runtime_frame",
                                       "M1+20 @700 unwind_info", "M0+20 @800 unwind_info"});
  CHECK(walked.walk.end == WalkEnd::bottom);
}

TEST_CASE("a transition Frame restores the caller of a helper", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x400);
  runtime.prestub(0x200, runtime.in(2), 0x400);
  const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
  CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "PrestubMethodFrame @200",
                                       "M2+20 @400 runtime_frame", "M1+20 @500 unwind_info",
                                       "M0+20 @600 unwind_info"});
  REQUIRE(walked.frames.size() == 5);
  CHECK(walked.frames[1].method_desc == 0xAB'0010u);
  // The stub's callee-saved registers are those of the method.
  if (cpu == Cpu::x64) {
    CHECK(walked.frames[2].registers.find(x64_register::rbx) == 0xB0u);
    CHECK(walked.frames[4].registers.find(x64_register::r15) == 0x15u);
  }
}

TEST_CASE("exceptions: a fault is exact, a throw is a call", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x1000);
  SECTION("FaultingExceptionFrame") {
    runtime.faulting(0x200, runtime.in(2, 0x44), 0x1000);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "FaultingExceptionFrame @200",
                                         "M2+44 @1000 runtime_frame leaf", "M1+20 @1100 unwind_info",
                                         "M0+20 @1200 unwind_info"});
  }
  SECTION("SoftwareExceptionFrame") {
    runtime.software(0x200, runtime.in(2, 0x44), 0x1000);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "SoftwareExceptionFrame @200",
                                         "M2+44 @1000 runtime_frame", "M1+20 @1100 unwind_info",
                                         "M0+20 @1200 unwind_info"});
  }
}

TEST_CASE("a funclet is a frame of its own method", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  // The catch funclet of M2 runs; the runtime called it, and M2's own frame lies above.
  const Address in_funclet = runtime.in(2, WalkerRuntime::funclet + 0x20);
  runtime.frame(0x100, runtime.native_return);
  add_chain(runtime, 0x1000);
  runtime.software(0x400, runtime.in(2), 0x1000);
  const WalkedStack walked = runtime.walk(runtime.registers(in_funclet, 0x100));
  CHECK(runtime.lines(walked) == Lines{"M2+a0 @100 context leaf", "N 50000020 @200 unwind_info",
                                       "SoftwareExceptionFrame @400", "M2+20 @1000 runtime_frame",
                                       "M1+20 @1100 unwind_info", "M0+20 @1200 unwind_info"});
  REQUIRE(walked.frames.size() == 6);
  CHECK(walked.frames[0].method_desc == runtime.method_desc(2));
  CHECK(walked.frames[3].method_desc == runtime.method_desc(2));
  REQUIRE(walked.frames[0].code);
  const Target target = runtime.execution.target();
  ExecutionManager manager(target);
  CHECK(manager.is_funclet(std::get<CodeBlock>(manager.find(in_funclet))));
  CHECK(walked.walk.end == WalkEnd::bottom);
}

TEST_CASE("a hijacked return address is looked up in the Thread", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x100);
  runtime.memory()
      .at(runtime.at(runtime.return_slot(0x100)))
      .u64(runtime.native_code + 0x300); // the trampoline
  const bool slot_first = GENERATE(false, true);
  const Address slot = runtime.at(runtime.return_slot(0x100)), original = runtime.in(1);
  // A stale pair of an earlier hijack, then the live one.
  runtime.memory().at(WalkerRuntime::thread_address + 0x40).u64(slot + 0x500).u64(runtime.in(3));
  runtime.memory()
      .at(WalkerRuntime::thread_address + 0x80)
      .u64(slot_first ? slot : original)
      .u64(slot_first ? original : slot);
  const RegisterContext start = runtime.registers(runtime.in(2), 0x100);
  runtime.thread.state = thread_state::return_address_hijacked;
  const WalkedStack walked = runtime.walk(start);
  CHECK(runtime.lines(walked) ==
        Lines{"M2+20 @100 context leaf", "M1+20 @200 unwind_info", "M0+20 @300 unwind_info"});
  CHECK(walked.walk.end == WalkEnd::bottom);
  // A thread that is not marked is not searched.
  runtime.thread.state = 0;
  CHECK(runtime.lines(runtime.walk(start)).at(1) == "N 50000300 @200 unwind_info");
}

TEST_CASE("a hijack pair whose slot is the first word of the Thread has one neighbour", "[walker]") {
  WalkerRuntime runtime(GENERATE(Cpu::x64, Cpu::arm64));
  const Address slot = runtime.at(runtime.return_slot(0x100));
  runtime.memory().at(WalkerRuntime::thread_address).u64(slot).u64(runtime.in(1));
  const Target target = runtime.execution.target();
  std::vector<Address> asked;
  const auto is_managed = [&](Address address) {
    asked.push_back(address);
    return false;
  };
  CHECK_FALSE(hijacked_return_address(target, runtime.thread, slot, is_managed));
  CHECK(asked == std::vector<Address>{runtime.in(1)});
}

TEST_CASE("of the pairs of a Thread the one counts whose slot lies in the stack that is asked for",
          "[walker]") {
  WalkerRuntime runtime(GENERATE(Cpu::x64, Cpu::arm64));
  const Address first = runtime.at(0x100), end = runtime.at(0x400);
  runtime.memory().at(WalkerRuntime::thread_address + 0x40).u64(runtime.in(3)).u64(end).u64(0);
  runtime.memory().at(WalkerRuntime::thread_address + 0x80).u64(runtime.in(1)).u64(first + 8).u64(0);
  const Target target = runtime.execution.target();
  const auto is_managed = [&](Address address) {
    return address == runtime.in(1) || address == runtime.in(3);
  };
  const auto found = hijack_within(target, runtime.thread.address, first, end, is_managed);
  REQUIRE(found);
  CHECK(found->slot == first + 8);
  CHECK(found->original == runtime.in(1));
  CHECK_FALSE(hijack_within(target, runtime.thread.address, first, first + 8, is_managed));
}

TEST_CASE("a thread in a HijackFrame goes on in the method to which the return address belongs", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  add_chain(runtime, 0x400); // M2 at 0x400, M1 at 0x500, M0 at 0x600
  // The stub runs at 0x200 and has pushed the registers; nothing that describes it leads out of it.
  runtime.hijack(0x180, 0x400);
  const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code + 0x10, 0x200));
  const Lines lines = runtime.lines(walked);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "HijackFrame @180");
  CHECK(lines[2] == "M2+20 @400 runtime_frame leaf");
  CHECK(lines[3] == "M1+20 @500 unwind_info");
  // The value that the method returned is in its register.
  const RegisterContext& registers = walked.frames[2].registers;
  CHECK(registers.get(cpu == Cpu::x64 ? x64_register::rax : arm64_register::x0) == 0xA0);
  CHECK(registers.get(cpu == Cpu::x64 ? x64_register::rdx : arm64_register::x1) == 0xA1);
}

TEST_CASE("a stub has no frame of its own", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  constexpr Address stub = WalkerRuntime::code + 0x2000;
  runtime.memory().at(stub - 8).fill(0x80);
  runtime.execution.stub(runtime.heap(), stub, 0x40, 6);
  add_chain(runtime, 0x200);
  RegisterContext start = runtime.registers(stub + 4, cpu == Cpu::x64 ? 0x1F8 : 0x200);
  runtime.memory().at(runtime.at(0x1F8)).u64(runtime.in(2));
  if (cpu == Cpu::arm64) start.set(arm64_register::lr, runtime.in(2));
  start.set_fp(runtime.at(0x200));
  const WalkedStack walked = runtime.walk(start);
  CHECK(runtime.lines(walked) ==
        Lines{cpu == Cpu::x64 ? "S 40002004 @1f8 context leaf" : "S 40002004 @200 context leaf",
              "M2+20 @200 stub", "M1+20 @300 unwind_info", "M0+20 @400 unwind_info"});
  CHECK(walked.walk.end == WalkEnd::bottom);
}

TEST_CASE("a stub that the runtime lists nowhere is left by the return address on top", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  const Address stub = WalkerRuntime::native_code + 0x40;
  add_chain(runtime, 0x200);
  // An explicit Frame further out, which would lead past the methods.
  runtime.inlined_call(0x380, WalkerRuntime::in(0), 0x400);
  RegisterContext start = runtime.registers(stub, cpu == Cpu::x64 ? 0x1F8 : 0x200);
  runtime.memory().at(runtime.at(0x1F8)).u64(runtime.in(2));
  if (cpu == Cpu::arm64) start.set(arm64_register::lr, runtime.in(2));
  start.set_fp(runtime.at(0x200));
  SECTION("behind a call") {
    if (cpu == Cpu::x64)
      runtime.memory().at(runtime.in(2) - 6).bytes({0xFF, 0x15, 1, 2, 3, 4});
    else
      runtime.memory().at(runtime.in(2) - 4).u32(0xD63F'0100); // blr x8
    const WalkedStack walked = runtime.walk(start);
    const Lines lines = runtime.lines(walked);
    REQUIRE(lines.size() >= 4);
    CHECK(lines[0] == (cpu == Cpu::x64 ? "N 50000040 @1f8 context leaf" : "N 50000040 @200 context leaf"));
    CHECK(lines[1] == "M2+20 @200 stub");
    CHECK(lines[2] == "InlinedCallFrame @380"); // within the frame of M1
    CHECK(lines[3] == "M1+20 @300 unwind_info");
    CHECK(walked.walk.end == WalkEnd::bottom);
  }
  SECTION("what no call stands before may be anything: the Frame leads on") {
    const Lines lines = runtime.lines(runtime.walk(start));
    REQUIRE(lines.size() >= 3);
    CHECK(lines[1] == "InlinedCallFrame @380");
    CHECK(lines[2].starts_with("M0+20 @400"));
  }
}

TEST_CASE("through code whose image is missing a walk goes on by the frame pointer", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  runtime.list_unread_image();
  runtime.add_call(1);
  runtime.memory().at(runtime.at(0x100)).u64(runtime.at(0x110)).u64(runtime.in(1));
  runtime.frame(0x110, runtime.in(0));
  runtime.frame(0x210, 0);
  const Lines rest{"M1+20 @110 frame_pointer", "M0+20 @210 unwind_info"};
  const auto is_told = [](const stack::Walk& walk) {
    return walk.end == WalkEnd::bottom && walk.notes.size() == 1 &&
           walk.notes.front().starts_with("frames may be missing behind 0x58000020, ");
  };
  SECTION("when the Frame of its call leads there") {
    runtime.inlined_call(0xC0, runtime.in_unread, 0x100);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "InlinedCallFrame @c0",
                                         "N 58000020 @100 runtime_frame", rest[0], rest[1]});
    CHECK(is_told(walked.walk));
  }
  SECTION("when a frame pointer leads there") {
    runtime.memory().at(runtime.at(0x80)).u64(runtime.at(0x100)).u64(runtime.in_unread);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(walked) ==
          Lines{"N 50000000 @80 context leaf", "N 58000020 @90 frame_pointer", rest[0], rest[1]});
    CHECK(is_told(walked.walk));
  }
  SECTION("not when it leads to no return address") {
    runtime.memory().at(runtime.at(0x108)).u64(runtime.in(1) + 8); // no call ends there
    runtime.inlined_call(0xC0, runtime.in_unread, 0x100);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(walked) ==
          Lines{"N 50000000 @80 context leaf", "InlinedCallFrame @c0", "N 58000020 @100 runtime_frame"});
    CHECK(walked.walk.end == WalkEnd::failed);
  }
  SECTION("not beyond a Frame that leads to managed code before") {
    runtime.inlined_call(0xC0, runtime.in_unread, 0x100, runtime.at(0x104));
    runtime.memory().at(runtime.at(0x100)).u64(runtime.at(0x250)).u64(0);
    runtime.frame(0x210, 0);
    runtime.memory().at(runtime.at(0xC0) + 8).u64(runtime.at(0x1C0));
    runtime.explicit_frame(0x1C0, frame_identifier::inlined_call);
    runtime.memory()
        .at(runtime.at(0x1D0))
        .u64(0xAB'0008)
        .u64(runtime.at(0x210))
        .u64(runtime.in(0))
        .u64(runtime.at(0x210));
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    CHECK(runtime.lines(walked) == Lines{"N 50000000 @80 context leaf", "InlinedCallFrame @c0",
                                         "N 58000020 @100 runtime_frame", "InlinedCallFrame @1c0",
                                         "M0+20 @210 runtime_frame"});
  }
}

TEST_CASE("code without a frame pointer, whose image is missing, leaves that of its caller", "[walker]") {
  WalkerRuntime runtime(Cpu::x64);
  runtime.list_unread_image();
  runtime.add_call(0);
  runtime.inlined_call(0xC0, runtime.in_unread, 0x100);
  runtime.memory().at(runtime.at(0xC0 + 40)).u64(runtime.at(0x200)); // M1's frame pointer
  runtime.memory().at(runtime.at(0x100)).u64(0x1234).u64(runtime.in(1));
  runtime.frame(0x110, runtime.in(0));
  runtime.frame(0x210, 0);
  const RegisterContext start = runtime.registers(runtime.native_code, 0x80);
  const Lines first{"N 50000000 @80 context leaf", "InlinedCallFrame @c0", "N 58000020 @100 runtime_frame"};
  Lines all = first;
  all.insert(all.end(), {"M1+20 @110 frame_pointer", "M0+20 @210 unwind_info"});
  CHECK(runtime.lines(runtime.walk(start)) == all);
  SECTION("a return address elsewhere is not the caller's") {
    runtime.memory().at(runtime.at(0x100)).u64(runtime.in(1)).u64(0x1234);
    Lines skipped = first; // by the frame pointer, which is the caller's
    skipped.emplace_back("M0+20 @210 frame_pointer");
    CHECK(runtime.lines(runtime.walk(start)) == skipped);
  }
}
