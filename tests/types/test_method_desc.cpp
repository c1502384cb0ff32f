#include "core/types/method_desc.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("a MethodDesc gives token, flags, slot and its chunk's MethodTable", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address type = runtime.type({.module = 0x1000, .rid = 2});
      const auto methods = runtime.chunk(
          type, {{.rid = 0x12345, .flags = 0xa8, .flags3 = 0xb, .slot = 7},
                 {.rid = 0x12346, .kind = MethodClassification::instantiated, .flags3 = 4, .slot = 9}});
      const Target target = runtime.target.target();
      const MethodDescs descs(target);

      const MethodDesc first = descs.read(methods[0]);
      CHECK(first.token() == 0x0601'2345);
      CHECK(first.method_table == type);
      CHECK(first.chunk == runtime.chunk_of(methods[1]));
      CHECK(first.classification() == MethodClassification::il);
      CHECK(first.slot == 7);
      CHECK(first.has_non_vtable_slot());
      CHECK(first.has_native_code_slot());
      CHECK(first.is_static());
      CHECK_FALSE(first.has_method_impl());
      CHECK(first.has_stable_entry_point());
      CHECK(first.has_precode());
      CHECK_FALSE(first.is_unboxing_stub());
      CHECK(first.is_eligible_for_tiering());

      const MethodDesc second = descs.read(methods[1]);
      CHECK(second.token() == 0x0601'2346);
      CHECK(second.classification() == MethodClassification::instantiated);
      CHECK(second.is_unboxing_stub());
      CHECK_FALSE(second.is_eligible_for_tiering());

      // What the runtime makes has no row, though damage may name one.
      for (const MethodClassification made : {MethodClassification::dynamic, MethodClassification::array})
        CHECK(descs.read(runtime.method(type, {.rid = 0x12345, .kind = made})).token() == 0);
    }
  }
}

TEST_CASE("what cannot be a MethodDesc is corrupt", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address type = runtime.type({.module = 0x1000, .rid = 2});
      const Address method = runtime.method(type, {.rid = 1});
      const Target target = runtime.target.target();
      const MethodDescs descs(target);
      const auto kind_of_fault = [&](Address at) {
        try {
          descs.read(at);
        } catch (const Error& fault) {
          return fault.kind();
        }
        return ErrorKind::io;
      };
      CHECK(kind_of_fault(0) == ErrorKind::corrupt);
      CHECK(kind_of_fault(method + 1) == ErrorKind::corrupt);
      CHECK(kind_of_fault(0x10) == ErrorKind::memory_missing);
      // Its place lies behind the end of its chunk.
      runtime.target.set(method, "MethodDesc", "ChunkIndex", 0x40);
      CHECK(kind_of_fault(method) != ErrorKind::io);
      // An index that leads below address 0.
      runtime.target.record_at(0x40, "MethodDesc", {{"ChunkIndex", 0xff}});
      CHECK(kind_of_fault(0x40) == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("the size of a MethodDesc is the sum of its parts or the runtime's word", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const unsigned p = platform.pointer_size;
      const Target target = runtime.target.target();
      const MethodDescs descs(target);
      const std::uint32_t base = 8 + p;
      CHECK(descs.size(0x00) == base);
      CHECK(descs.size(0x08) == base + p);
      CHECK(descs.size(0x10) == base + 2 * p);
      CHECK(descs.size(0x20) == base + p);
      CHECK(descs.size(0x40) == base + 3 * p);
      CHECK(descs.size(0x7f & ~7u) == base + 7 * p);
      CHECK(descs.size(0x05) == (p == 8 ? 40u : 28u)); // InstantiatedMethodDesc
      CHECK_FALSE(descs.size(0x06));                   // COM: the descriptor does not say
      // Bits that are no slots add nothing.
      CHECK(descs.size(0x80 | 0x2000) == base);

      const Address table = runtime.target.memory().allocate(0x80);
      runtime.target.memory().at(table + 0x28).u8(99);
      runtime.target.memory().at(table + 0x08).u8(77);
      runtime.target.pointer_global("MethodDescSizeTable", table);
      const Target with_table = runtime.target.target();
      CHECK(MethodDescs(with_table).size(0x28) == 99);
      // The native code slot stands behind the non-vtable slot and MethodImpl only.
      CHECK(MethodDescs(with_table).native_code_slot({.address = 0x5000, .flags = 0x28}) == 0x5000 + 77);
      CHECK(descs.native_code_slot({.address = 0x5000, .flags = 0x38}) == 0x5000 + base + 3 * p);
      CHECK_FALSE(descs.native_code_slot({.address = 0x5000, .flags = 0x18}));
    }
  }
}

TEST_CASE("the methods of a type are all in its chain of chunks", "[types]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      RuntimeTypes runtime(platform);
      const Address type = runtime.type({.module = 0x1000, .rid = 2});
      const auto first = runtime.chunk(
          type,
          {{.rid = 1}, {.rid = 2, .kind = MethodClassification::instantiated, .flags = 0x38}, {.rid = 3}});
      const auto second = runtime.chunk(type, {{.rid = 4, .flags = 0}, {.rid = 5}});
      const Target target = runtime.target.target();
      const MethodDescs descs(target);
      const MethodTables tables(target);
      const Address chain = tables.method_chunks(tables.read(type));

      std::vector<std::uint32_t> rids;
      std::vector<Address> addresses;
      descs.for_each(chain, [&](const MethodDesc& method) {
        rids.push_back(method.rid);
        addresses.push_back(method.address);
        return true;
      });
      CHECK(rids == std::vector<std::uint32_t>{1, 2, 3, 4, 5});
      CHECK(addresses == std::vector<Address>{first[0], first[1], first[2], second[0], second[1]});

      std::size_t seen = 0;
      descs.for_each(chain, [&](const MethodDesc&) { return ++seen < 2; });
      CHECK(seen == 2);

      // A chunk that follows itself.
      const Address last = runtime.chunk_of(second[0]);
      runtime.target.set(last, "MethodDescChunk", "Next", last);
      CHECK_THROWS_AS(descs.for_each(chain, [](const MethodDesc&) { return true; }), Error);
      runtime.target.set(last, "MethodDescChunk", "Next", 0);
      // More methods than its size holds.
      runtime.target.set(last, "MethodDescChunk", "Count", 40);
      CHECK_THROWS_AS(descs.for_each(chain, [](const MethodDesc&) { return true; }), Error);
      runtime.target.set(last, "MethodDescChunk", "Count", 1);
      // A method that claims another place.
      runtime.target.set(second[1], "MethodDesc", "ChunkIndex", 0);
      CHECK_THROWS_AS(descs.for_each(chain, [](const MethodDesc&) { return true; }), Error);
    }
  }
}

TEST_CASE("implausible layouts of methods are refused by name", "[types]") {
  for (const std::uint64_t alignment : {0u, 3u, 4096u}) {
    RuntimeTypes runtime(Platform{});
    runtime.target.global("MethodDescAlignment", alignment);
    const Target target = runtime.target.target();
    CHECK_THROWS_AS(MethodDescs(target), Error);
  }
  RuntimeTypes runtime(Platform{});
  runtime.target.global("MethodDescTokenRemainderBitCount", 40);
  const Target target = runtime.target.target();
  CHECK_THROWS_WITH(MethodDescs(target), Catch::Contains("token remainder of 40 bits"));
}
