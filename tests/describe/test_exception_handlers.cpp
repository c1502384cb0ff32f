#include "core/describe/exception_handlers.h"
#include "core/runtime/runtime.h"
#include "tests/support/execution_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform handler_platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
constexpr Address heap_begin = 0x2'0000, body = 0x2'1000;
constexpr std::uint32_t body_size = 0x500, first_handler = 0x300, second_handler = 0x400;

// A body with two handlers behind its main part; everything is nop but what a test puts there.
struct HandlerProcess {
  ExecutionBuilder builder{handler_platform};
  ExecutionBuilder::Heap heap = builder.heap(heap_begin, heap_begin + 0x1'0000);

  explicit HandlerProcess(std::vector<std::uint32_t> handlers = {first_handler, second_handler}) {
    builder.method(
        heap,
        {.start = body, .size = body_size, .method_desc = 0x7777'0000, .funclets = std::move(handlers)});
    builder.memory().at(body).fill(body_size, 0x90);
    builder.types().variable("AppDomain", 0x1234);
  }
  // lea rax, [rip + ...] at `offset`, of body + `target`.
  void load_address(std::uint32_t offset, std::int64_t target) {
    const auto distance = static_cast<std::uint32_t>(target - (offset + 7));
    builder.memory()
        .at(body + offset)
        .bytes(
            {0x48, 0x8D, 0x05, distance & 0xFF, distance >> 8 & 0xFF, distance >> 16 & 0xFF, distance >> 24});
  }
  Runtime runtime() {
    std::vector<LoadedModule> modules = {{.path = "/usr/share/dotnet/libcoreclr.so",
                                          .base = 0x20'0000,
                                          .size = 0x1'0000,
                                          .build_id = {},
                                          .contract_descriptor = builder.types().write_descriptor()}};
    return {builder.memory(), std::move(modules), handler_platform, nullptr};
  }
};

CodeBlock block_at(Runtime& runtime, std::uint32_t offset) {
  REQUIRE(runtime.absence() == nullptr);
  return std::get<CodeBlock>(runtime.code()->find(body + offset));
}

SequencePoint point(std::uint32_t il_offset, std::uint32_t line) {
  SequencePoint made;
  made.il_offset = il_offset;
  made.hidden = line == 0;
  made.start_line = line;
  made.document = 1;
  return made;
}

} // namespace

TEST_CASE("exception handlers: each funclet of a body, from any place in it") {
  HandlerProcess process;
  Runtime runtime = process.runtime();
  for (const std::uint32_t offset : {0u, 0x320u, 0x4FFu})
    CHECK(handler_entries(*runtime.code(), block_at(runtime, offset)) ==
          std::vector<Address>{body + first_handler, body + second_handler});
  HandlerProcess without(std::vector<std::uint32_t>{});
  Runtime other = without.runtime();
  CHECK(handler_entries(*other.code(), block_at(other, 0)).empty());
}

TEST_CASE("exception handlers: stops are at the first line of a handler") {
  HandlerProcess process;
  Runtime runtime = process.runtime();
  const CodeBlock block = block_at(runtime, 0);
  const std::vector<SequencePoint> points{point(0, 10), point(5, 12), point(8, 0), point(9, 14),
                                          point(20, 0)};
  // A filter's handler begins with code of no line; the second has none at all.
  const IlMap map({{0, il_prolog},
                   {0x10, 0},
                   {0x40, 5},
                   {0x300, il_prolog},
                   {0x308, 8},
                   {0x310, 9},
                   {0x380, 9},
                   {0x3F0, il_epilog},
                   {0x400, il_prolog},
                   {0x404, 20},
                   {0x480, il_epilog}});
  const std::vector<HandlerPlace> places = handler_places(*runtime.code(), block, map, points);
  REQUIRE(places.size() == 2);
  CHECK(places[0].entry == body + first_handler);
  CHECK(places[0].begin == body + 0x308);
  CHECK(places[0].line == body + 0x310);
  CHECK(places[1].begin == body + 0x404);
  CHECK_FALSE(places[1].line);

  // Maps that tell nothing, or lie.
  for (const IlMap& poor : {IlMap(), IlMap({{0, 0}}), IlMap({{0x300, il_prolog}}),
                            IlMap({{0x300, il_prolog}, {0xFFFF'0000, 9}})}) {
    const std::vector<HandlerPlace> found = handler_places(*runtime.code(), block, poor, points);
    REQUIRE(found.size() == 2);
    CHECK(found[0].begin == body + first_handler);
    CHECK_FALSE(found[0].line);
  }
}

TEST_CASE("exception handlers: behind a catch block goes on what it returns the address of") {
  HandlerProcess process;
  process.load_address(0x310, 0x54);
  process.load_address(0x330, 0x10'0000); // elsewhere
  process.load_address(0x340, -0x10);     // before the body
  process.load_address(0x3F0, second_handler - 1);
  process.load_address(0x480, 0x60);
  Runtime runtime = process.runtime();
  ExecutionManager& code = *runtime.code();
  MemoryReader& memory = process.builder.memory();
  for (const auto& [ip, left, begins] :
       {std::array<Address, 3>{0x300, 0x317, 0x54}, {0x3FF, 0x317, 0x54}, {0x400, 0x487, 0x60}}) {
    const std::vector<ResumePlace> found =
        resume_places(code, memory, block_at(runtime, static_cast<std::uint32_t>(ip)));
    REQUIRE(found.size() == 1);
    CHECK(found[0].left == body + left);
    CHECK(found[0].begins == body + begins);
  }
  CHECK(resume_places(code, memory, block_at(runtime, 0)).empty());
  // A `try` within a handler goes on there.
  process.load_address(0x320, 0x410);
  const std::vector<ResumePlace> nested = resume_places(code, memory, block_at(runtime, 0x300));
  REQUIRE(nested.size() == 2);
  CHECK(nested[1].left == body + 0x327);
  CHECK(nested[1].begins == body + 0x410);
  // Behind an instruction that is not known nothing is looked for.
  process.builder.memory().at(body + 0x308).bytes({0x06});
  CHECK(resume_places(code, memory, block_at(runtime, 0x300)).empty());
}
