// Peer cases: dotnet/runtime src/native/managed/cdac/tests (PrecodeStubs).
#include "core/execution/execution_manager.h"
#include "core/execution/precode.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint8_t stub_type = 0x4c, pinvoke_type = 5, fixup_type = 2, um_entry_type = 7,
                       ret_buf_type = 8, interpreter_type = 6;

// Where the instructions of a CPU show the type in versions 1 and 2.
struct TypePlace {
  unsigned offset = 0, width = 1, shift = 0;
  std::uint8_t stub = stub_type;
};

TypePlace place_of(Cpu cpu) {
  switch (cpu) {
  case Cpu::arm64:
    return {.stub = 0x4a};
  case Cpu::riscv64:
    return {.stub = 0x17};
  case Cpu::loongarch64:
    return {.width = 2, .shift = 5, .stub = 4};
  case Cpu::arm:
    return {.offset = 7, .stub = 0xff};
  default:
    return {};
  }
}

struct Case {
  Platform platform;
  unsigned version;
};

std::vector<Case> cases() {
  std::vector<Platform> platforms = all_platforms();
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64, Cpu::loongarch64, Cpu::riscv64, Cpu::arm})
    platforms.push_back({.pointer_size = cpu == Cpu::arm ? 4u : 8u, .cpu = cpu});
  std::vector<Case> all;
  for (const Platform& platform : platforms)
    for (const unsigned version : {1u, 2u, 3u}) all.push_back({platform, version});
  return all;
}

class Precoded {
public:
  Precoded(Platform platform, unsigned version)
      : b(platform), version_(version), place_(place_of(platform.cpu)), thumb_(platform.cpu == Cpu::arm),
        page_(thumb_ ? 0x1000 : 0x4000) {
    TargetBuilder& t = b.types();
    t.contract("PrecodeStubs", version);
    t.type("PrecodeMachineDescriptor", {{"StubCodePageSize", Width::u32},
                                        {"InvalidPrecodeType", Width::u8},
                                        {"StubPrecodeType", Width::u8},
                                        {"PInvokeImportPrecodeType", Width::u8},
                                        {"FixupPrecodeType", Width::u8},
                                        {"ThisPointerRetBufPrecodeType", Width::u8},
                                        {"UMEntryPrecodeType", Width::u8}});
    if (version == 3)
      t.type("PrecodeMachineDescriptor", {{"StubPrecodeSize", Width::u8},
                                          {"FixupStubPrecodeSize", Width::u8},
                                          {"InterpreterPrecodeType", Width::u8},
                                          {"StubBytes", Width::bytes, 24, 32},
                                          {"StubIgnoredBytes", Width::bytes, 24, 56},
                                          {"FixupBytes", Width::bytes, 24, 80},
                                          {"FixupIgnoredBytes", Width::bytes, 24, 104}});
    else
      t.type("PrecodeMachineDescriptor", {{"OffsetOfPrecodeType", Width::u8},
                                          {"ReadWidthOfPrecodeType", Width::u8},
                                          {"ShiftOfPrecodeType", Width::u8}});
    t.type("StubPrecodeData", {{version == 1 ? "MethodDesc" : "SecretParam"}, {"Type", Width::u8}})
        .type("FixupPrecodeData", {{"Target"}, {"MethodDesc"}})
        .type("ThisPtrRetBufPrecodeData", {{"Target"}, {"MethodDesc"}})
        .type("InterpreterPrecodeData", {{"ByteCodeAddr"}})
        .type("InterpByteCodeStart", {{"Method"}})
        .type("InterpMethod", {{"Pad"}, {"MethodDesc"}});
    const Address metadata = b.platform_metadata(thumb_ ? 1 : 0);
    FieldValues values{{"StubCodePageSize", page_},
                       {"InvalidPrecodeType", 0xff},
                       {"StubPrecodeType", version == 3 ? 3 : place_.stub},
                       {"PInvokeImportPrecodeType", pinvoke_type},
                       {"FixupPrecodeType", fixup_type},
                       {"ThisPointerRetBufPrecodeType", ret_buf_type},
                       {"UMEntryPrecodeType", um_entry_type}};
    if (place_.stub == 0xff) values[1].second = 0;
    const FieldValues own = version == 3 ? FieldValues{{"StubPrecodeSize", 24},
                                                       {"FixupStubPrecodeSize", 24},
                                                       {"InterpreterPrecodeType", interpreter_type}}
                                         : FieldValues{{"OffsetOfPrecodeType", place_.offset},
                                                       {"ReadWidthOfPrecodeType", place_.width},
                                                       {"ShiftOfPrecodeType", place_.shift}};
    values.insert(values.end(), own.begin(), own.end());
    b.types().record_at(metadata, "PrecodeMachineDescriptor", values);
    if (version == 3) {
      b.memory().at(metadata + 32).bytes({0x11, 0x22, 0x33, 0x44}).fill(20);
      b.memory().at(metadata + 56).bytes({0, 0, 1, 0}).fill(20, 1);
      b.memory().at(metadata + 80).bytes({0x55, 0x66, 0x77, 0x88}).fill(20);
      b.memory().at(metadata + 104).bytes({0, 1, 0, 0}).fill(20, 1);
    }
    code_ = 0x60'0000;
    b.memory().at(code_).fill(2 * page_);
  }

  Address data_of(Address code) const { return code + page_; }
  // An entry point with code as the runtime writes it; data is the test's affair.
  Address precode(unsigned number, bool fixup, std::uint8_t type) {
    const Address code = code_ + 24 * number;
    if (version_ == 3) {
      if (fixup)
        b.memory().at(code).bytes({0x55, 0xEE, 0x77, 0x88}).fill(20, 0xCC);
      else
        b.memory().at(code).bytes({0x11, 0x22, 0xEE, 0x44}).fill(20, 0xCC);
    } else {
      const std::uint8_t shown = fixup ? fixup_type : place_.stub;
      b.memory().write_integer(code + place_.offset, std::uint64_t{shown} << place_.shift, place_.width);
    }
    if (!fixup) b.types().set(data_of(code), "StubPrecodeData", "Type", type);
    return thumb_ ? code | 1 : code;
  }
  Address code(unsigned number) const { return code_ + 24 * number; }
  std::uint8_t stub_data_type() const { return version_ == 3 ? 3 : place_.stub; }
  std::string_view secret() const { return version_ == 1 ? "MethodDesc" : "SecretParam"; }

  ExecutionBuilder b;

private:
  unsigned version_;
  TypePlace place_;
  bool thumb_;
  Address page_, code_ = 0;
};

} // namespace

TEST_CASE("the methods of precodes") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform) << " " << to_string(platform.cpu) << " version " << version);
    Precoded p(platform, version);
    TargetBuilder& t = p.b.types();
    const Address stub = p.precode(0, false, p.stub_data_type());
    t.set(p.data_of(p.code(0)), "StubPrecodeData", p.secret(), 0x0101'aaa0);
    const Address fixup = p.precode(1, true, 0);
    t.set(p.data_of(p.code(1)), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
    const Address pinvoke = p.precode(2, false, pinvoke_type);
    t.set(p.data_of(p.code(2)), "StubPrecodeData", p.secret(), 0x0303'ccc0);
    const Address ret_buf = p.precode(3, false, ret_buf_type);
    t.set(p.data_of(p.code(3)), "StubPrecodeData", p.secret(),
          t.record("ThisPtrRetBufPrecodeData", {{"MethodDesc", 0x0404'ddd0}}));
    const Address um_entry = p.precode(4, false, um_entry_type);
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
    Precoded p(platform, 3);
    TargetBuilder& t = p.b.types();
    const Address entry = p.precode(0, false, interpreter_type);
    const Address method = t.record("InterpMethod", {{"MethodDesc", 0x0101'aaa0}});
    const Address byte_code = t.record("InterpByteCodeStart", {{"Method", method}});
    t.set(p.data_of(p.code(0)), "InterpreterPrecodeData", "ByteCodeAddr", byte_code);
    t.memory().write_integer(p.data_of(p.code(0)) + static_cast<Address>(t.offset("StubPrecodeData", "Type")),
                             interpreter_type, 1);
    const Target target = p.b.target();
    CHECK(Precodes(target).at_entry(entry).kind == PrecodeKind::interpreter);
    CHECK(Precodes(target).at_entry(entry).method_desc == Address{0x0101'aaa0});
  }
}

TEST_CASE("a range of precodes") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    Precoded p(platform, 3);
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

TEST_CASE("precodes that cannot be read") {
  Precoded p({.pointer_size = 8, .cpu = Cpu::x64}, 3);
  const Address entry = p.precode(0, false, 3);
  p.b.memory().erase(p.data_of(p.code(0)), 24);
  const Target target = p.b.target();
  CHECK(fault_of([&] { Precodes(target).at_entry(entry); })->kind() == ErrorKind::memory_missing);
  CHECK(fault_of([&] { Precodes(target).at_entry(0x1'0000'0000); })->address() == 0x1'0000'0000);

  p.b.types().contract("PrecodeStubs", 4);
  const Target unknown = p.b.target();
  const auto fault = fault_of([&] { Precodes precodes(unknown); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::unsupported_contract);
  CHECK_THAT(fault->what(), Catch::Contains("PrecodeStubs"));
}
