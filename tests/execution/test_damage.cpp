// Memory with wrong bytes in it: every public call returns or throws an Error, in bounded time.
#include "core/execution/execution_manager.h"
#include "tests/support/execution_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// Some bytes are other ones, the same at every read.
class DamagedReader final : public MemoryReader {
public:
  DamagedReader(MemoryReader& next, std::uint64_t seed, std::uint64_t one_in)
      : next_(&next), seed_(seed), one_in_(one_in) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const std::size_t got = next_->read_some(address, out);
    for (std::size_t i = 0; i < got; ++i) {
      const std::uint64_t hash = mix(address + i + seed_ * 0x9E37'79B9'7F4A'7C15u);
      if (hash % one_in_ == 0) out[i] = hash >> 40 & 1 ? std::byte(0xFF) : std::byte(hash >> 32 & 0xFF);
    }
    return got;
  }

private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9u;
    x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EBu;
    return x ^ x >> 31;
  }
  MemoryReader* next_;
  std::uint64_t seed_, one_in_;
};

template<typename Call>
void tolerate(const Call& call) {
  try {
    call();
  } catch (const Error&) {
    // A damaged target deserves an Error.
  }
}

} // namespace

TEST_CASE("damaged targets") {
  constexpr Address heap_begin = 0x0a0a'0000, image_begin = 0x0b00'0000;
  std::size_t blocks = 0, misses = 0;
  for (const Platform& platform : execution_platforms()) {
    ExecutionBuilder b(platform);
    auto heap = b.heap(heap_begin, heap_begin + 0xc000);
    for (unsigned i = 0; i < 10; ++i)
      b.method(heap, {.start = heap_begin + 0x200 + 0x600 * Address{i},
                      .size = 0x450,
                      .method_desc = 0x1000,
                      .funclets = {0x300}});
    b.stub(heap, heap_begin + 0x6000, 0x40, 6);
    b.image({.begin = image_begin,
             .end = image_begin + 0x8000,
             .functions =
                 {{0x100, 0x80, 0x100 + 0x40}, {0x180, 0x80}, {0x200, 0x100, 0x100}, {0x400, 0x40, 0, true}},
             .methods = {{0x100, 0x2000}},
             .hot_cold = {3, 0},
             .thunks = {{0x900, 0x100}},
             .debug_info = std::vector<std::uint32_t>{0, 2}});
    const ContractDescriptor descriptor = b.types().contract_descriptor();
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
      DamagedReader damaged(b.memory(), seed, seed % 2 == 0 ? 1000 : 100);
      const Target target(damaged, descriptor, platform);
      ExecutionManager manager(target);
      const auto use = [&](const CodeBlock& block) {
        tolerate([&] { manager.regions(block); });
        tolerate([&] { manager.relative_offset(block); });
        tolerate([&] { manager.unwind_info(block); });
        tolerate([&] { manager.is_funclet(block); });
        tolerate([&] { manager.debug_info(block); });
        tolerate([&] { manager.gc_info(block); });
      };
      const auto look = [&](Address ip) {
        tolerate([&] {
          const CodeLookup found = manager.find(ip);
          if (const auto* block = std::get_if<CodeBlock>(&found)) {
            ++blocks;
            CHECK(block->start <= block->ip);
            use(*block);
          } else {
            ++misses;
          }
        });
        tolerate([&] { manager.method_desc_of_entry_point(ip); });
      };
      for (unsigned i = 0; i < 12; ++i) look(heap_begin + 0x600 * Address{i} + 0x310);
      for (const Address rva : {0x100, 0x190, 0x210, 0x2ff, 0x410, 0x910, 0x4100}) look(image_begin + rva);
      tolerate([&] {
        for (const RangeSection& section : manager.sections()) {
          tolerate([&] { manager.r2r_image(section); });
          for (const std::uint32_t index : {0u, 1u, 3u, 77u})
            tolerate([&] { use(manager.r2r_block(section, index)); });
        }
      });
      tolerate([&] { manager.for_each_jitted([](const JittedBody&) { return true; }); });
    }
  }
  CHECK(blocks > 1000); // the damage is not so great that nothing is left to test
  CHECK(misses > 100);
}

TEST_CASE("a runtime function in front of its method is no part of it") {
  constexpr Address begin = 0x0b00'0000;
  ExecutionBuilder b(
      {.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  const auto image = b.image({.begin = begin,
                              .end = begin + 0x8000,
                              .functions = {{0x100, 0x80, 0x100}, {0x180, 0x80}},
                              .methods = {{0x100, 0x2000}}});
  const auto block = [&] {
    const Target target = b.target();
    ExecutionManager manager(target);
    return manager.r2r_block(manager.sections().front(), 1);
  };
  CHECK(block().start == begin + 0x100);
  CHECK(block().ip == begin + 0x180);
  b.memory().at(image.table + 12).u32(0x20); // the table is not in order any more
  CHECK_THROWS_AS(block(), Error);
}

TEST_CASE("a code heap whose map begins far away costs an error, not a walk over gigabytes") {
  const Platform platform = all_platforms().front();
  ExecutionBuilder b(platform);
  auto heap = b.heap(0x7000'0000, 0x7010'0000);
  b.method(heap, {.start = 0x7000'0040, .size = 0x20, .method_desc = 0x5000'0000});
  b.memory()
      .at(heap.node + static_cast<Address>(b.types().offset("CodeHeapListNode", "MapBase")))
      .pointer(0x1000);
  const Target target = b.target();
  ExecutionManager manager(target);
  CHECK_THROWS_AS(manager.find(0x7000'0050), Error);
  manager.for_each_jitted([](const JittedBody&) { return true; });
  CHECK(manager.holes().size() == 1);
}

TEST_CASE("a code heap whose nibble map would go on at address 0 is refused") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  ExecutionBuilder b(platform);
  auto heap = b.heap(0x7000'0000, 0x7010'0000);
  b.method(heap, {.start = 0x7000'0040, .size = 0x20, .method_desc = 0x5000'0000});
  b.memory()
      .at(heap.node + static_cast<Address>(b.types().offset("CodeHeapListNode", "HeaderMap")))
      .pointer(~Address{0} - 4095);
  const Target target = b.target();
  ExecutionManager manager(target);
  CHECK_THROWS_AS(manager.find(0x7000'0050), Error);
  manager.for_each_jitted([](const JittedBody&) { return true; });
  REQUIRE(manager.holes().size() == 1);
  CHECK_THAT(manager.holes().front().what, Catch::Contains("wraps around"));
}
