// The records of references that native code of the runtime holds.
#include "core/stack/gc_frames.h"
#include "tests/stack/runtime_builder.h"

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address thread_address = 0x6000, end_of_chain = ~Address{0};

struct Scene {
  Scene() {
    for (Address word = 0; word < 0x400; word += 8) memory.u64(thread_address + word, 0x7000 + word % 64);
    for (Address word = 0; word < 0x1000; word += 8) memory.u64(0x7000 + word, 0);
    memory.u64(thread_address + 0x2B0, 0x7100);
    record(0x7100, 0x7200, 0x7140, 2, 0);
    record(0x7200, end_of_chain, 0x7240, 1, 1);
    thread.address = thread_address;
    thread.stack_limit = 0x7000;
    thread.stack_base = 0x8000;
  }
  void record(Address at, Address next, Address references, std::uint32_t count, std::uint32_t flags) {
    memory.u64(at, next);
    memory.u64(at + 8, thread_address);
    memory.u64(at + 16, references);
    memory.u32(at + 24, count);
    memory.u32(at + 28, flags);
  }
  GcFrames read(const ContractDescriptor& descriptor = runtime_descriptor(Cpu::x64)) {
    const Target target(memory, descriptor, {});
    return read_gc_frames(target, thread);
  }

  StackMemory memory;
  RuntimeThread thread;
};

} // namespace

TEST_CASE("the list of GCFrames is found in the Thread", "[roots]") {
  Scene scene;
  const GcFrames found = scene.read();
  CHECK(found.problem.empty());
  REQUIRE(found.frames.size() == 2);
  CHECK(found.frames[0].address == 0x7100);
  CHECK(found.frames[0].references == 0x7140);
  CHECK(found.frames[0].count == 2);
  CHECK_FALSE(found.frames[0].interior);
  CHECK(found.frames[1].interior);
  // One that belongs to another thread is none.
  scene.memory.u64(0x7108, 0x1234);
  CHECK(scene.read().frames.empty());
}

TEST_CASE("a runtime that says where the list begins is believed", "[roots]") {
  Scene scene;
  ContractDescriptor descriptor = runtime_descriptor(Cpu::x64);
  descriptor.types["Thread"].fields.emplace("GCFrame", FieldDescriptor{.offset = 0x80});
  scene.memory.u64(thread_address + 0x80, end_of_chain);
  CHECK(scene.read(descriptor).frames.empty());
  scene.memory.u64(thread_address + 0x80, 0x7200);
  CHECK(scene.read(descriptor).frames.size() == 1);
}

TEST_CASE("a damaged list of GCFrames ends with the reason", "[roots]") {
  Scene scene;
  scene.memory.u64(0x7200, 0x7100); // a loop
  CHECK(scene.read().frames.size() == 2);
  CHECK(scene.read().problem.find("0x7100 follows 0x7200") != std::string::npos);
  scene.memory.u64(0x7200, 0x9000); // another stack
  CHECK(scene.read().problem.find("0x9000 follows") != std::string::npos);
  scene.memory.u64(0x7200, end_of_chain);
  scene.memory.u32(0x7218, max_protected_words + 1);
  CHECK(scene.read().frames.size() == 1);
  CHECK(scene.read().problem.find("protects 100001 words") != std::string::npos);
  scene.thread.stack_base.reset();
  scene.memory.u32(0x7218, 1);
  scene.memory.u64(0x7200, 0x10'0000); // no memory
  CHECK(scene.read().frames.size() == 2);
  CHECK(scene.read().problem.find("torn") != std::string::npos);
}
