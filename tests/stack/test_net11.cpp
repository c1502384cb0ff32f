// Frames, threads and exceptions of a runtime whose descriptor has the shape of .NET 11, with offsets that no
// runtime has.
#include "core/stack/exceptions.h"
#include "core/stack/frame_chain.h"
#include "core/stack/interpreted_methods.h"
#include "core/stack/threads.h"
#include "tests/support/faults.h"
#include "tests/support/net11_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

struct Net11 : TargetBuilder {
  explicit Net11(Cpu cpu, unsigned seed = 1, bool interpreter = false)
      : TargetBuilder({.pointer_size = 8, .cpu = cpu, .os = Os::unix_like}) {
    add_net11(*this, std::string(CLR_TEST_DATA) + "/target/data/net11-frozen.json",
              {.seed = seed, .interpreter = interpreter});
  }
  std::uint64_t identifier(const std::string& kind) {
    return *descriptor().globals.at(kind + "FrameIdentifier").number;
  }
  // A record of the Frame type `type`, of that kind, with room for the types that it is derived of.
  ExplicitFrame frame(FrameKind kind, std::string_view type, const FieldValues& values = {}) {
    return {.address = record(type, values, 0x100), .kind = kind};
  }
  // The field of another type at the same place, as a base type has it.
  Address field_at(Address base, std::string_view type, std::string_view field) const {
    return base + static_cast<Address>(offset(type, field));
  }
};

constexpr Cpu cpus[] = {Cpu::x64, Cpu::arm64};
constexpr unsigned seeds[] = {1, 2, 3};

} // namespace

TEST_CASE("net11: Frames are told by the identifiers that the descriptor gives") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed, true);
      const Address outer = 0x9000, inner = 0x8000;
      t.memory().at(outer).fill(0x400);
      t.memory().at(inner).fill(0x400);
      t.memory().at(inner).pointer(t.identifier("Interpreter"));
      t.set(inner, "Frame", "Next", outer);
      t.memory().at(outer).pointer(t.identifier("FuncEval"));
      t.set(outer, "Frame", "Next", ~Address{0});
      // The identifier is the first word; where Next overlaps it, this order of fields tells nothing.
      if (t.offset("Frame", "Next") == 0) continue;
      const Target target = t.target();
      const FrameChain::Result chain = FrameChain(target).read(inner, {}, {});
      REQUIRE(chain.frames.size() == 2);
      CHECK(chain.frames[0].kind == FrameKind::interpreter);
      CHECK(chain.frames[1].kind == FrameKind::func_eval);
    }
}

TEST_CASE("net11: bit 0 of a Datum marks a helper, and the rest is the method all the same") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed);
      const Target target = t.target();
      const FrameChain chain(target);
      const auto method = [&](std::uint64_t datum) {
        return chain.method_desc(t.frame(FrameKind::inlined_call, "InlinedCallFrame",
                                         {{"Datum", datum}, {"CallerReturnAddress", 0x40'0000}}));
      };
      CHECK(method(0xAB'0008) == 0xAB'0008u);
      CHECK(method(0xAB'0009) == 0xAB'0008u);
      CHECK_FALSE(method(0));
      CHECK_FALSE(method(1));
      CHECK_FALSE(method(2)); // where no MethodDesc can lie
    }
}

TEST_CASE("a Datum on 32-bit x86 may be the size of the arguments") {
  for (const bool net11 : {false, true}) {
    TargetBuilder t({.pointer_size = 4, .cpu = Cpu::x86, .os = Os::windows});
    t.type("InlinedCallFrame", {{"Datum"}, {"CallerReturnAddress"}, {"CallSiteSP"}, {"CalleeSavedFP"}});
    if (net11) t.as_net11();
    const Target target = t.target();
    const FrameChain chain(target);
    const auto method = [&](std::uint64_t datum) {
      return chain.method_desc(
          {.address = t.record("InlinedCallFrame", {{"Datum", datum}, {"CallerReturnAddress", 0x40'0000}}),
           .kind = FrameKind::inlined_call});
    };
    CHECK_FALSE(method(0x20));
    CHECK_FALSE(method(0xFFFC));
    CHECK(method(0x1'0000) == 0x1'0000u);
    CHECK(method(0x1'0004) == (net11 ? 0x1'0004u : 0x1'0000u));
  }
}

TEST_CASE("net11: the method of a transition Frame is where the descriptor says") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed);
      const Target target = t.target();
      const FrameChain chain(target);
      for (const FrameKind kind : {FrameKind::prestub_method, FrameKind::external_method,
                                   FrameKind::dynamic_helper, FrameKind::call_counting_helper}) {
        const ExplicitFrame named = t.frame(kind, "FramedMethodFrame", {{"MethodDescPtr", 0xAB'0010}});
        CHECK(chain.method_desc(named) == 0xAB'0010u);
        CHECK_FALSE(chain.method_desc(t.frame(kind, "FramedMethodFrame")));
      }
    }
}

TEST_CASE("net11: a transition Frame restores its block; without one, nothing") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed, true);
      const Architecture& architecture = architecture_of(cpu);
      const Address block = t.record("TransitionBlock", {{"ReturnAddress", 0x40'6000}});
      std::uint64_t value = 0x100;
      for (const auto& [reg, field] : architecture.callee_saved_fields)
        t.set(t.field_at(block, "TransitionBlock", "CalleeSavedRegisters"), "CalleeSavedRegisters", field,
              ++value);
      const Target target = t.target();
      const FrameChain chain(target);
      for (const FrameKind kind : {FrameKind::prestub_method, FrameKind::interpreter}) {
        const auto context =
            chain.context(t.frame(kind, "FramedMethodFrame", {{"TransitionBlockPtr", block}}));
        REQUIRE(context);
        CHECK(context->registers.pc() == 0x40'6000u);
        value = 0x100;
        for (const auto& [reg, field] : architecture.callee_saved_fields)
          CHECK(context->registers.find(reg) == ++value);
        CHECK_FALSE(chain.context(t.frame(kind, "FramedMethodFrame")));
      }
    }
}

TEST_CASE("net11: a hijacked thread's registers, in a block or one by one") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed);
      const Architecture& architecture = architecture_of(cpu);
      CHECK(t.descriptor().types["HijackArgs"].fields.contains("CalleeSavedRegisters") == (cpu == Cpu::x64));
      const Address args = t.record("HijackArgs", {}, 0x100);
      std::uint64_t value = 0x200;
      for (const auto& [reg, field] : architecture.callee_saved_fields) {
        if (cpu == Cpu::x64)
          t.set(t.field_at(args, "HijackArgs", "CalleeSavedRegisters"), "CalleeSavedRegisters", field,
                ++value);
        else
          t.set(args, "HijackArgs", field, ++value);
      }
      const Target target = t.target();
      const auto context = FrameChain(target).context(
          t.frame(FrameKind::hijack, "HijackFrame", {{"HijackArgsPtr", args}, {"ReturnAddress", 0x40'7000}}));
      REQUIRE(context);
      CHECK(context->registers.pc() == 0x40'7000u);
      CHECK(context->leaf);
      value = 0x200;
      for (const auto& [reg, field] : architecture.callee_saved_fields)
        CHECK(context->registers.find(reg) == ++value);
    }
}

TEST_CASE("net11: an evaluation of a function keeps registers where it used a hijack") {
  Net11 t(Cpu::x64);
  const Address eval = t.record("DebuggerEval");
  const Address registers = t.field_at(eval, "DebuggerEval", "TargetContext");
  t.memory().write_integer(registers + 0x30, 0x0010'0003, 4);
  t.memory().write_integer(registers + 0x98, 0x8000, 8);
  t.memory().write_integer(registers + 0xF8, 0x40'8000, 8);
  const ExplicitFrame frame = t.frame(FrameKind::func_eval, "FuncEvalFrame", {{"DebuggerEvalPtr", eval}});
  const Target target = t.target();
  const FrameChain chain(target);
  CHECK_FALSE(chain.context(frame));
  t.set(eval, "DebuggerEval", "EvalUsesHijack", 1);
  const auto context = chain.context(frame);
  REQUIRE(context);
  CHECK(context->registers.pc() == 0x40'8000u);
  // Neither name of the flag: the Frame says so and restores nothing.
  t.descriptor().types["DebuggerEval"].fields.erase("EvalUsesHijack");
  const Target without = t.target();
  const auto fault = fault_of([&] { FrameChain(without).context(frame); });
  REQUIRE(fault);
  CHECK_THAT(fault->what(), Catch::Contains("DebuggerEval."));
}

TEST_CASE("net11: threads, and the name of the object that a thread exposes") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed);
      const Address store = t.record("ThreadStore");
      t.variable("ThreadStore", store);
      const Address string_table = 0x50'0000;
      t.variable("StringMethodTable", string_table);
      const Address object = t.memory().allocate(0x40), handle = t.memory().allocate(8);
      t.memory().at(handle).pointer(object);
      const Address name = t.record("String", {}, 0x40);
      t.set(name, "Object", "m_pMethTab", string_table);
      t.set(name, "String", "m_StringLength", 2);
      t.memory().write_integer(t.field_at(name, "String", "m_FirstChar"), 0x0069'0068, 4);
      const Address thread = t.record("Thread", {{"Id", 7},
                                                 {"OSId", 4711},
                                                 {"ExposedObject", handle},
                                                 {"CachedStackBase", 0x9000},
                                                 {"CachedStackLimit", 0x8000}});
      const Address first = t.record("Thread", {{"Id", 1}, {"OSId", 4710}, {"LinkNext", thread}});
      t.set(store, "ThreadStore", "FirstThreadLink", first);
      const Target target = t.target();
      const ThreadList list = read_threads(target);
      CHECK(list.problem.empty());
      REQUIRE(list.threads.size() == 2);
      CHECK(list.threads[0].os_id == 4710u);
      const RuntimeThread& read = list.threads[1];
      CHECK(read.address == thread);
      CHECK(read.managed_id == 7u);
      CHECK(read.os_id == 4711u);
      CHECK(read.stack_base == 0x9000u);
      CHECK(read.managed_object == object);
      CHECK_FALSE(read.name); // its place is not known here
      const bool overlaps = t.offset("Object", "m_pMethTab") == t.offset("String", "m_StringLength") ||
                            t.offset("Object", "m_pMethTab") == t.offset("String", "m_FirstChar");
      if (overlaps) continue;
      t.memory().at(object + 0x10).pointer(name);
      t.memory().at(object + 0x28).pointer(thread);
      CHECK(managed_thread_name(target, read, {.name = 0x10, .runtime_thread = 0x28}) == "hi");
      CHECK_FALSE(managed_thread_name(target, read, {.name = 0x10, .runtime_thread = 0x20}));
    }
}

TEST_CASE("net11: the elements of a stack trace have the published layout") {
  for (const unsigned seed : seeds) {
    Net11 t(Cpu::x64, seed);
    t.descriptor().types["Object"].fields["m_pMethTab"].offset = 0;
    t.descriptor().types["Array"] = {.size = 16, .fields = {{"m_NumComponents", {.offset = 8}}}};
    const Address exception_table = t.record("MethodTable"), bytes_table = t.record("MethodTable");
    t.variable("ExceptionMethodTable", exception_table);
    const Address object = t.record("Exception", {}, 0x40);
    const Address array = t.memory().allocate(0x400);
    t.memory().at(array).pointer(bytes_table).u32(0x300);
    const std::uint64_t header = t.size_of("StackTraceArrayHeader"), stride = t.size_of("StackTraceElement");
    t.set(array + 16, "StackTraceArrayHeader", "Size", 2);
    for (unsigned i = 0; i < 2; ++i) {
      const Address element = array + 16 + header + i * stride;
      t.set(element, "StackTraceElement", "Ip", 0x40'1000 + i);
      t.set(element, "StackTraceElement", "MethodDesc", 0xAB00 + i);
      t.set(element, "StackTraceElement", "Flags", i + 1);
    }
    // The MethodTable of the object is its first word, and so may be a field of Exception here.
    for (auto& [name, field] : t.descriptor().types["Exception"].fields) field.offset += 8;
    t.memory().at(object).pointer(exception_table);
    t.set(object, "Exception", "_stackTrace", array);
    const Target target = t.target();
    const ManagedException exception =
        ExceptionReader(target, [](Address) { return std::string("X"); }).read(object);
    CHECK(exception.fault.empty());
    REQUIRE(exception.trace.size() == 2);
    CHECK(exception.trace[1].ip == 0x40'1001);
    CHECK(exception.trace[1].method_desc == 0xAB01);
    CHECK(exception.trace[1].flags == 2);
    CHECK_FALSE(exception.trace[1].sp); // three words: none is left for it
    t.descriptor().types.erase("StackTraceElement");
    const Target without = t.target();
    const ManagedException untold =
        ExceptionReader(without, [](Address) { return std::string("X"); }).read(object);
    CHECK(untold.trace.empty());
    CHECK_THAT(untold.fault, Catch::Contains("StackTraceElement"));
  }
}

TEST_CASE("net11: the interpreter's list of methods") {
  for (const Cpu cpu : cpus)
    for (const unsigned seed : seeds) {
      Net11 t(cpu, seed, true);
      constexpr std::string_view node_type = "InterpMethodContextFrame";
      std::vector<Address> nodes, methods;
      for (unsigned i = 0; i < 4; ++i) {
        const Address method = t.record("InterpMethod", {{"MethodDesc", 0xAB00 + 8 * i}});
        const Address code = t.record("InterpByteCodeStart", {{"Method", method}});
        nodes.push_back(
            t.record(node_type, {{"Ip", 0x60'0000 + i}, {"Stack", 0x7000 + i}, {"StartIp", code}}));
      }
      // Node 0 is the newest; node 2 is not in use.
      t.set(nodes[2], node_type, "Ip", 0);
      for (unsigned i = 0; i < 3; ++i) {
        t.set(nodes[i], node_type, "ParentPtr", nodes[i + 1]);
        t.set(nodes[i + 1], node_type, "NextPtr", nodes[i]);
      }
      const Address unused = t.record(node_type, {{"ParentPtr", nodes[0]}});
      t.set(nodes[0], node_type, "NextPtr", unused);
      const Address frame = t.record("InterpreterFrame", {{"IsFaulting", 1}});
      const Target target = t.target();
      const auto list_from = [&](Address hint) {
        t.set(frame, "InterpreterFrame", "TopInterpMethodContextFrame", hint);
        return interpreted_methods(target, frame);
      };
      // A hint that is too old from node 1, right, and too new.
      for (const Address hint : {nodes[1], nodes[0], unused}) {
        const InterpretedMethods list = list_from(hint);
        CHECK(list.problem.empty());
        REQUIRE(list.methods.size() == 3);
        CHECK(list.methods[0].method_desc == 0xAB00);
        CHECK(list.methods[0].ip == 0x60'0000);
        CHECK(list.methods[0].stack == 0x7000);
        CHECK(list.methods[0].node == nodes[0]);
        CHECK(list.methods[0].faulting);
        CHECK(list.methods[1].method_desc == 0xAB08);
        CHECK_FALSE(list.methods[1].faulting);
        CHECK(list.methods[2].method_desc == 0xAB18);
      }
      CHECK(list_from(0).methods.empty());
      CHECK(list_from(0).problem.empty());
      // Loops end with what was there.
      t.set(nodes[3], node_type, "ParentPtr", nodes[1]);
      const InterpretedMethods loop = list_from(nodes[0]);
      CHECK(loop.methods.size() == 3);
      CHECK_THAT(loop.problem, Catch::Contains("comes back"));
      t.set(nodes[3], node_type, "ParentPtr", 0);
      t.set(nodes[0], node_type, "NextPtr", nodes[1]);
      CHECK_THAT(list_from(nodes[1]).problem, Catch::Contains("comes back"));
      CHECK(list_from(nodes[1]).methods.empty());
    }
}

TEST_CASE("net11: Frames with the same list of interpreted methods search its newest node once") {
  Net11 t(Cpu::x64, 1, true);
  constexpr std::string_view node_type = "InterpMethodContextFrame";
  constexpr std::size_t count = 50;
  std::vector<Address> nodes;
  for (unsigned i = 0; i < count; ++i) nodes.push_back(t.record(node_type, {{"Ip", 0x60'0000 + i}}));
  for (unsigned i = 0; i + 1 < count; ++i) t.set(nodes[i], node_type, "NextPtr", nodes[i + 1]);
  const Address frame = t.record("InterpreterFrame", {{"TopInterpMethodContextFrame", nodes[0]}});
  const Address other = t.record("InterpreterFrame", {{"TopInterpMethodContextFrame", nodes[0]}});
  const Target target = t.target();
  InterpretedLists lists;
  const auto newest_of = [&](Address of) {
    const InterpretedMethods list = interpreted_methods(target, of, lists);
    CHECK(list.problem.empty());
    REQUIRE(list.methods.size() == 1);
    return list.methods[0].node;
  };
  CHECK(newest_of(frame) == nodes.back());
  CHECK(lists.nodes == count + 1); // those of the search, and the method
  CHECK(newest_of(other) == nodes.back());
  CHECK(lists.nodes == count + 2);
  SECTION("all lists of a walk together have a limit") {
    lists.nodes = max_interpreted_nodes - 1;
    CHECK(newest_of(frame) == nodes.back());
    const InterpretedMethods none = interpreted_methods(target, frame, lists);
    CHECK(none.methods.empty());
    CHECK_THAT(none.problem, Catch::Contains("more than 1000000 nodes of interpreted methods on one stack"));
    CHECK(lists.nodes == max_interpreted_nodes);
  }
}
