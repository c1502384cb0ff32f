// Stacks of a synthetic runtime for tests of the walker: methods with unwind data of one fixed frame shape,
// explicit Frames, and the walk of a thread as lines of text.
#pragma once

#include "tests/stack/runtime_builder.h"

#include "core/stack/native_unwinder.h"
#include "core/stack/walker.h"
#include "tests/support/execution_builder.h"

#include <fmt/format.h>

namespace clr::test {

// Identifiers as runtime_builder.h numbers them.
namespace frame_identifier {
constexpr std::uint64_t inlined_call = 1, resumable = 2, faulting = 4, software = 5, hijack = 8, prestub = 9,
                        interpreter = 40;
} // namespace frame_identifier

struct WalkedStack {
  std::vector<StackFrame> frames;
  stack::Walk walk;
};

class WalkerRuntime {
public:
  static constexpr Address code = 0x4000'0000, stack = 0x7FFF'1000'0000, stack_size = 0x4000;
  static constexpr Address native_code = 0x5000'0000; // in no module
  static constexpr Address frame_size = 0x100;        // of every method
  static constexpr Address method_size = 0x100, funclet = 0x80;
  static constexpr Address thread_address = 0x6000'0000;
  static constexpr Address byte_code = 0x7000'0200;
  static constexpr Address end_of_chain = ~Address{0};

  explicit WalkerRuntime(Cpu cpu)
      : execution({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = cpu, .os = Os::unix_like}),
        cpu_(cpu) {
    execution.types().merge(runtime_descriptor(cpu));
    heap_ = execution.heap(code, code + 0x1'0000);
    memory().at(stack).fill(stack_size);
    memory().at(thread_address).fill(0x400);
    memory().at(native_code).fill(0x1000, cpu == Cpu::x64 ? 0x90 : 0x1F);
    for (unsigned i = 0; i < 4; ++i) add_method(i);
    thread.address = thread_address;
    thread.state = 0;
    thread.frame = end_of_chain;
  }

  MemoryBuilder& memory() { return execution.memory(); }
  static Address method(unsigned index) { return code + 0x200 + index * 0x200; }
  static Address method_desc(unsigned index) { return 0x9000 + index * 0x100; }
  // A place in the body of a method that a call returns to.
  static Address in(unsigned index, Address offset = 0x20) { return method(index) + offset; }
  static Address at(Address offset) { return stack + offset; } // of the stack
  static constexpr Address native_return = native_code + 0x20; // behind a call in native code

  // The stack of a method whose stack pointer is at `sp` and that returns to `return_address`.
  void frame(Address sp, Address return_address, std::optional<Address> saved_fp = {}) {
    const Address fp = saved_fp.value_or(at(sp + frame_size));
    memory().at(at(sp + fp_slot())).u64(fp);
    memory().at(at(return_slot(sp))).u64(return_address);
  }
  // Offsets in the stack.
  Address return_slot(Address sp) const { return sp + fp_slot() + 8; }
  Address fp_slot() const { return cpu_ == Cpu::x64 ? frame_size - 16 : 0; }

  RegisterContext registers(Address pc, Address sp) const {
    RegisterContext context(cpu_);
    context.set_pc(pc);
    context.set_sp(at(sp));
    context.set_fp(at(sp));
    return context;
  }

  // An explicit Frame; the fields that its kind has follow. The first one becomes the thread's.
  void explicit_frame(Address offset, std::uint64_t identifier, Address next = end_of_chain) {
    memory().at(at(offset)).u64(identifier).u64(next);
    if (thread.frame == end_of_chain) thread.frame = at(offset);
  }
  void inlined_call(Address offset, Address return_address, Address sp, Address next = end_of_chain) {
    explicit_frame(offset, frame_identifier::inlined_call, next);
    // The datum, the call site's stack pointer, the return address, the frame pointer.
    memory().at(at(offset + 16)).u64(0xAB'0008).u64(at(sp)).u64(return_address).u64(at(sp));
  }
  void faulting(Address offset, Address pc, Address sp, Address next = end_of_chain) {
    explicit_frame(offset, frame_identifier::faulting, next);
    context_record(at(offset + 32), pc, sp);
  }
  void software(Address offset, Address pc, Address sp, Address next = end_of_chain) {
    explicit_frame(offset, frame_identifier::software, next);
    memory().at(at(offset + 16)).u64(pc);
    context_record(at(offset) + (cpu_ == Cpu::x64 ? 288 : 192), 0, sp);
  }
  // A transition into a helper of the runtime: the block lies directly below the caller's frame.
  void prestub(Address offset, Address pc, Address sp, Address next = end_of_chain) {
    explicit_frame(offset, frame_identifier::prestub, next);
    const Address block = sp - (cpu_ == Cpu::x64 ? 104 : 176);
    memory().at(at(offset + 16)).u64(at(block)).u64(0xAB'0010);
    if (cpu_ == Cpu::x64) {
      memory().at(at(block + 48)).u64(0x12).u64(0x13).u64(0x14).u64(0x15).u64(0xB0).u64(at(sp)).u64(pc);
    } else {
      memory().at(at(block)).u64(at(sp)).u64(pc);
    }
  }
  // A word of the header of method `index`: its GC info, its exception clauses.
  void header_word(unsigned index, std::string_view field, Address value) {
    const Target target = execution.target();
    ExecutionManager manager(target);
    const CodeBlock block = std::get<CodeBlock>(manager.find(method(index)));
    memory()
        .at(block.code_header + static_cast<Address>(*target.find_offset("RealCodeHeader", field)))
        .u64(value);
  }
  // Code of an image that the runtime lists and of which the target has nothing: neither code nor unwind
  // data.
  static constexpr Address unread_code = 0x5800'0000, in_unread = unread_code + 0x20;
  void list_unread_image() {
    execution.section(
        {.begin = unread_code, .end = unread_code + 0x1'0000, .flags = 0, .r2r_module = 0x7777'1000});
  }
  // A call instruction ends where M`index` is returned to.
  void add_call(unsigned index) {
    MemoryCursor before = memory().at(in(index) - (cpu_ == Cpu::x64 ? 5 : 4));
    if (cpu_ == Cpu::x64)
      before.bytes({0xE8, 0x00, 0x00, 0x00, 0x00});
    else
      before.u32(0x9400'0000);
  }
  // A HijackFrame whose stub has pushed its registers below `sp`, where M2 goes on.
  void hijack(Address offset, Address sp) {
    const Address args = cpu_ == Cpu::x64 ? sp - 80 : sp - 192;
    explicit_frame(offset, frame_identifier::hijack);
    memory().at(at(offset + 16)).u64(in(2)).u64(0).u64(at(args));
    if (cpu_ == Cpu::x64) {
      memory().at(at(args)).u64(0xA0).u64(0xA1).u64(0);
      memory().at(at(args + 24)).u64(12).u64(13).u64(14).u64(15).u64(0xB0).u64(at(sp));
    } else {
      memory().at(at(args)).u64(at(sp)).u64(0);
      memory().at(at(args + 96)).u64(0xA0).u64(0xA1);
    }
  }
  // Makes this a runtime with an interpreter. Returns where byte code lies.
  Address add_byte_code() {
    constexpr Address begin = 0x7000'0000;
    TargetBuilder& types = execution.types();
    types.type("InterpreterRealCodeHeader", {{"MethodDesc"}, {"DebugInfo"}, {"GCInfo"}, {"JitEHInfo"}});
    types.type("InterpMethodContextFrame", {{"ParentPtr"}, {"NextPtr"}, {"Ip"}, {"Stack"}, {"StartIp"}});
    types.type("InterpreterFrame",
               {{"TopInterpMethodContextFrame", Width::pointer, 0, 32}, {"IsFaulting", Width::u8, 0, 40}});
    types.type("InterpByteCodeStart", {{"Method"}});
    types.type("InterpMethod", {{"MethodDesc"}});
    types.global("InterpreterFrameIdentifier", frame_identifier::interpreter);
    ExecutionBuilder::Heap heap =
        execution.heap(begin, begin + 0x1000, RangeSection::code_heap | RangeSection::interpreter);
    execution.method(heap, {.start = byte_code, .size = 0x100, .method_desc = 0x5000});
    memory().at(byte_code - 8).pointer(types.record("InterpreterRealCodeHeader", {{"MethodDesc", 0x5000}}));
    return byte_code;
  }
  // A method that the interpreter executes, in a node of its list.
  void interpreted(Address node, Address ip, Address parent) {
    TargetBuilder& types = execution.types();
    types.set(node, "InterpMethodContextFrame", "ParentPtr", parent);
    types.set(node, "InterpMethodContextFrame", "Ip", ip);
    types.set(node, "InterpMethodContextFrame", "Stack", 0x7000);
  }
  // The Frame of those methods: a transition into the interpreter's loop.
  void interpreter(Address offset, Address pc, Address sp, Address node) {
    prestub(offset, pc, sp);
    memory().at(at(offset)).u64(frame_identifier::interpreter);
    memory().at(at(offset + 24)).u64(0).u64(node).u64(0);
  }
  // The contents of the runtime's CONTEXT; the frame pointer is where the methods here keep it.
  void context_record(Address address, Address pc, Address sp) {
    memory().at(address).fill(0x400);
    if (cpu_ == Cpu::x64) {
      memory().at(address + 0x30).u32(0x0010'0003);
      memory().at(address + 0x98).u64(at(sp)).u64(at(sp));
      memory().at(address + 0xF8).u64(pc);
    } else {
      memory().at(address).u32(0x0040'0003);
      memory().at(address + 8 + 29 * 8).u64(at(sp)).u64(0).u64(at(sp)).u64(pc);
    }
  }

  WalkedStack walk(const RegisterContext& start, WalkOptions options = {}) {
    return walk(memory(), execution.types().contract_descriptor(), start, options);
  }
  WalkedStack walk(MemoryReader& reader, const ContractDescriptor& descriptor, const RegisterContext& start,
                   WalkOptions options = {}) const {
    const Platform& platform = descriptor.platform;
    const Target target(reader, descriptor, platform);
    ExecutionManager manager(target);
    NativeUnwinder native(reader, platform, {});
    StackWalker walker(&target, &manager, native);
    WalkedStack result;
    result.walk = walker.walk(
        start, &thread,
        [&](const StackFrame& frame) {
          result.frames.push_back(frame);
          return true;
        },
        options);
    return result;
  }

  // "M2+20 @100 unwind_info", "InlinedCallFrame @80", "N 50000000 @0 context leaf".
  static std::string line(const StackFrame& frame) {
    const Address sp = frame.sp() - stack;
    std::string text;
    if (frame.frame) return fmt::format("{} @{:x}", to_string(frame.frame->kind), sp);
    if (frame.code && frame.code->kind == CodeKind::interpreted) {
      text = fmt::format("I{:x}", frame.pc() - byte_code);
    } else if (frame.code) {
      const Address offset = frame.pc() - method(0);
      text = fmt::format("M{}+{:x}", offset / 0x200, offset % 0x200);
    } else {
      text = fmt::format("{} {:x}", frame.stub ? "S" : "N", frame.pc());
    }
    return text + fmt::format(" @{:x} {}{}", sp, to_string(frame.found_by), frame.leaf ? " leaf" : "");
  }
  static std::vector<std::string> lines(const WalkedStack& walked) {
    std::vector<std::string> result;
    for (const StackFrame& frame : walked.frames) result.push_back(line(frame));
    return result;
  }

  ExecutionBuilder execution;
  RuntimeThread thread;
  const ExecutionBuilder::Heap& heap() const { return heap_; }
  ExecutionBuilder::Heap& heap() { return heap_; }

private:
  void add_method(unsigned index) {
    const Address start = method(index);
    memory().at(start).fill(method_size, cpu_ == Cpu::x64 ? 0x90 : 0x1F);
    const Address header = execution.method(heap_, {.start = start,
                                                    .size = method_size,
                                                    .method_desc = method_desc(index),
                                                    .funclets = {static_cast<std::uint32_t>(funclet)}});
    const Address table =
        header + static_cast<Address>(execution.types().offset("RealCodeHeader", "UnwindInfos"));
    const unsigned stride = cpu_ == Cpu::x64 ? 12 : 8;
    for (unsigned i = 0; i < 2; ++i) {
      const Address data = code + 0x8000 + (index * 2 + i) * 0x40; // RVAs are not negative
      memory().at(data).fill(0x40);
      memory().at(table + i * stride + stride - 4).u32(data - code);
      MemoryCursor cursor = memory().at(data);
      if (cpu_ == Cpu::x64) // push rbp; sub rsp, 0xF0
        cursor.bytes({0x01, 0x08, 0x03, 0x00, 0x08, 0x01, (frame_size - 16) / 8, 0x00, 0x01, 0x50});
      else // stp fp, lr, [sp, -0x100]!; mov fp, sp. One code word; half of a method, in words.
        cursor.u32(1u << 27 | funclet / 4).bytes({0xE1, 0x9F, 0xE4, 0xE3});
    }
  }

  Cpu cpu_;
  ExecutionBuilder::Heap heap_;
};

} // namespace clr::test
