// Peer cases: dotnet/runtime src/native/managed/cdac/tests (PrecodeStubs).
#include "core/execution/execution_manager.h"
#include "core/execution/precode.h"
#include "tests/execution/precode_builder.h"

#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("the methods of precodes") {
  for (const auto& [platform, version, seed] : precode_cases()) {
    INFO(to_string(platform) << " " << to_string(platform.cpu) << " version " << version << " seed " << seed);
    PrecodeBuilder p(platform, version, seed);
    TargetBuilder& t = p.b.types();
    const Address stub = p.precode(0, false, p.stub_data_type());
    t.set(p.data_of(p.code(0)), "StubPrecodeData", p.secret(), 0x0101'aaa0);
    const Address fixup = p.precode(1, true, 0);
    t.set(p.data_of(p.code(1)), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
    const Address pinvoke = p.precode(2, false, precode_type::pinvoke);
    t.set(p.data_of(p.code(2)), "StubPrecodeData", p.secret(), 0x0303'ccc0);
    const Address ret_buf = p.precode(3, false, precode_type::ret_buf);
    t.set(p.data_of(p.code(3)), "StubPrecodeData", p.secret(),
          t.record("ThisPtrRetBufPrecodeData", {{"MethodDesc", 0x0404'ddd0}}));
    const Address um_entry = p.precode(4, false, precode_type::um_entry);
    const Address unused = p.precode(5, false, 0);
    const Address unused_fixup = p.precode(6, true, 0);
    const Target target = p.b.target();
    const Precodes precodes(target);

    CHECK(precodes.at_entry(stub).kind == PrecodeKind::stub);
    CHECK(precodes.at_entry(stub).method_desc == Address{0x0101'aaa0});
    CHECK(precodes.at_entry(fixup).kind == PrecodeKind::fixup);
    CHECK(precodes.at_entry(fixup).method_desc == Address{0x0202'bbb0});
    CHECK(precodes.at_entry(pinvoke).method_desc == Address{0x0303'ccc0});
    if (version == 1) {
      CHECK_FALSE(precodes.at_entry(ret_buf).method_desc);
    } else {
      CHECK(precodes.at_entry(ret_buf).kind == PrecodeKind::this_ret_buf);
      CHECK(precodes.at_entry(ret_buf).method_desc == Address{0x0404'ddd0});
    }
    CHECK(precodes.at_entry(um_entry).kind == PrecodeKind::um_entry);
    CHECK_FALSE(precodes.at_entry(um_entry).method_desc);
    CHECK(precodes.at_entry(unused).kind == PrecodeKind::invalid);
    CHECK_FALSE(precodes.at_entry(unused_fixup).method_desc);
    CHECK(precodes.at_entry(stub + 2).kind == PrecodeKind::invalid); // not aligned
    if (version == 3) {
      CHECK(precodes.containing(p.code(1) + 5).method_desc == Address{0x0202'bbb0});
      CHECK(precodes.containing(p.code(0) + 23).entry == p.code(0));
      CHECK(precodes.containing(p.data_of(p.code(1)) + 4).kind == PrecodeKind::invalid); // the data page
    }
  }
}

TEST_CASE("an interpreter precode leads to its method in three steps") {
  for (const Platform& platform : all_platforms()) {
    PrecodeBuilder p(platform, 3);
    TargetBuilder& t = p.b.types();
    const Address entry = p.precode(0, false, precode_type::interpreter);
    const Address method = t.record("InterpMethod", {{"MethodDesc", 0x0101'aaa0}});
    const Address byte_code = t.record("InterpByteCodeStart", {{"Method", method}});
    t.set(p.data_of(p.code(0)), "InterpreterPrecodeData", "ByteCodeAddr", byte_code);
    t.memory().write_integer(p.data_of(p.code(0)) + static_cast<Address>(t.offset("StubPrecodeData", "Type")),
                             precode_type::interpreter, 1);
    const Target target = p.b.target();
    CHECK(Precodes(target).at_entry(entry).kind == PrecodeKind::interpreter);
    CHECK(Precodes(target).at_entry(entry).method_desc == Address{0x0101'aaa0});
  }
}

TEST_CASE("a range of precodes") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    PrecodeBuilder p(platform, 3);
    TargetBuilder& t = p.b.types();
    t.type("CodeRangeMapRangeList", {{"RangeListType", Width::u32, 0, 32}});
    const Address list = t.record("CodeRangeMapRangeList", {{"RangeListType", 4}});
    const Address fixup = p.precode(0, true, 0);
    t.set(p.data_of(p.code(0)), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
    const Address unused = p.precode(1, true, 0);
    p.b.section({.begin = fixup & ~Address{0xFFFF},
                 .end = fixup + 0x8000,
                 .flags = RangeSection::range_list_flag,
                 .range_list = list});
    const Target target = p.b.target();
    ExecutionManager manager(target);
    for (const Address ip : {fixup, fixup + 1, fixup + 23}) {
      const execution::Miss miss = std::get<execution::Miss>(manager.find(ip));
      CHECK(miss.reason == MissReason::precode);
      CHECK(miss.stub == StubKind::fixup_precode);
      CHECK(miss.method_desc == Address{0x0202'bbb0});
      CHECK(miss.block_start == fixup);
      CHECK(miss.text == "fixup precode");
    }
    const execution::Miss free = std::get<execution::Miss>(manager.find(unused + 4));
    CHECK(free.reason == MissReason::stub);
    CHECK_FALSE(free.method_desc);
    for (const Address at : {fixup, fixup + 23, p.data_of(fixup), p.data_of(fixup) + 8}) {
      const auto part = manager.precode_part(at);
      REQUIRE(part);
      const bool code = at < fixup + 24;
      CHECK(part->begin == (code ? fixup : p.data_of(fixup)));
      CHECK(part->end == part->begin + 24);
      CHECK(part->code == code);
      CHECK(part->method_desc == Address{0x0202'bbb0});
      CHECK(part->kind == PrecodeKind::fixup);
    }
    for (const Address at : {unused, p.data_of(unused), fixup + 0x9000})
      CHECK_FALSE(manager.precode_part(at));
    CHECK(manager.method_desc_of_entry_point(fixup) == Address{0x0202'bbb0});
    CHECK_FALSE(manager.method_desc_of_entry_point(unused));
    CHECK_FALSE(manager.method_desc_of_entry_point(p.data_of(fixup)));

    // The kind is not needed to see whose precode it is.
    t.memory().erase(list + 32, 4);
    const execution::Miss unlisted = std::get<execution::Miss>(ExecutionManager(target).find(fixup));
    CHECK(unlisted.method_desc == Address{0x0202'bbb0});
    CHECK(unlisted.stub == StubKind::fixup_precode);
    for_each_failing_read(p.b.memory(), [&](MemoryReader& memory, std::uint64_t) {
      const Target failing(memory, p.b.types().contract_descriptor(), platform);
      const auto fault = fault_of([&] {
        const execution::Miss miss = std::get<execution::Miss>(ExecutionManager(failing).find(fixup));
        CHECK((miss.reason == MissReason::precode || miss.reason == MissReason::stub));
        if (miss.method_desc) CHECK(miss.method_desc == Address{0x0202'bbb0});
      });
      if (fault) CHECK(fault->kind() == ErrorKind::memory_missing);
    });
  }
}

TEST_CASE("a precode of one size holds nothing of the other") {
  PrecodeBuilder p({.pointer_size = 8, .cpu = Cpu::x64}, 3);
  const Address fixup = p.precode(0, true, 0), stub = p.precode(1, false, p.stub_data_type());
  p.b.types().set(p.data_of(fixup), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
  p.b.types().set(p.data_of(stub), "StubPrecodeData", p.secret(), 0x0101'aaa0);
  p.b.section({.begin = fixup & ~Address{0xFFFF},
               .end = fixup + 0x8000,
               .flags = RangeSection::range_list_flag,
               .range_list = 0x5550'0000});
  const Target target = p.b.target();
  constexpr Address size = 8; // and of others 24
  p.b.types().set(
      target.field_address(target.global("PlatformMetadata"), "PlatformMetadata", "PrecodeMachineDescriptor"),
      "PrecodeMachineDescriptor", "FixupStubPrecodeSize", size);
  ExecutionManager manager(target);
  CHECK(manager.precode_part(fixup + 5)->end == fixup + size);
  CHECK_FALSE(manager.precode_part(fixup + 12));
  CHECK(manager.precode_part(stub + 12)->begin == stub);
  CHECK(manager.precode_part(stub + 12)->end == stub + 24);
}

TEST_CASE("words of a precode that would go on at address 0") {
  constexpr Address page = 0x4000, top = 0 - 2 * page;
  PrecodeBuilder p({.pointer_size = 8, .cpu = Cpu::x64}, 3, 0, top);
  const unsigned last = page / 24;
  const Address inside = p.precode(last - 1, true, 0), across = p.precode(last, true, 0);
  for (const Address entry : {inside, across})
    p.b.types().set(p.data_of(entry), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
  p.b.section(
      {.begin = top, .end = ~Address{0}, .flags = RangeSection::range_list_flag, .range_list = 0x5550'0000});
  const Target target = p.b.target();
  ExecutionManager manager(target);
  CHECK(manager.precode_part(p.data_of(inside)));
  CHECK_FALSE(manager.precode_part(p.data_of(across)));
}

TEST_CASE("precodes that cannot be read") {
  PrecodeBuilder p({.pointer_size = 8, .cpu = Cpu::x64}, 3);
  const Address entry = p.precode(0, false, 3);
  p.b.memory().erase(p.data_of(p.code(0)), 24);
  const Target target = p.b.target();
  CHECK(fault_of([&] { Precodes(target).at_entry(entry); })->kind() == ErrorKind::memory_missing);
  CHECK(fault_of([&] { Precodes(target).at_entry(0x1'0000'0000); })->address() == 0x1'0000'0000);

  p.b.types().contract("PrecodeStubs", 4);
  const Target unknown = p.b.target();
  const auto fault = fault_of([&] { Precodes(unknown).at_entry(entry); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::unsupported_contract);
  CHECK_THAT(fault->what(), Catch::Contains("PrecodeStubs"));
}
