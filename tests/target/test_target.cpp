// Typed reads, types, globals and contracts of a Target, after the reference reader's TargetTests.
#include "core/memory/counting_reader.h"
#include "core/target/record.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

template<typename Call>
void check_fault(ErrorKind kind, const Call& call) {
  const auto fault = fault_of(call);
  REQUIRE(fault);
  CHECK(fault->kind() == kind);
}

} // namespace

TEST_CASE("types with size and fields, with fields only, with size only") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    t.type("Both", {{"A", Width::u32, 0, 8}, {"B", Width::u32, 0, -4}}, 56);
    t.type("Fields", {{"A", Width::u32, 0, 4}}, 0);
    t.type("Size", {}, 10);
    const Target target = t.target();
    CHECK(target.size_of("Both") == 56);
    CHECK(target.offset("Both", "A") == 8);
    CHECK(target.offset("Both", "B") == -4);
    CHECK(target.find_offset("Fields", "A") == 4);
    CHECK_FALSE(target.find_size("Fields"));
    CHECK(target.find_size("Size") == 10u);
    CHECK(target.field_address(0x1000, "Both", "A") == 0x1008);
    CHECK(target.field_address(0x1000, "Both", "B") == 0xffc);
    CHECK(target.field_address(0, "Both", "B") ==
          (platform.pointer_size == 8 ? 0xffff'ffff'ffff'fffc : 0xffff'fffc));
    CHECK(target.has_type("Size"));
    CHECK_FALSE(target.has_type("size"));
    CHECK_FALSE(target.find_offset("Both", "a"));
    CHECK_FALSE(target.find_offset("Absent", "A"));
    CHECK_FALSE(target.is_supplemented("Both", "A"));
    check_fault(ErrorKind::unsupported_contract, [&] { target.offset("Both", "Absent"); });
    check_fault(ErrorKind::unsupported_contract, [&] { target.size_of("Fields"); });
    const auto fault = fault_of([&] { target.field_address(0, "Both", "Absent"); });
    CHECK(std::string(fault->what()).find("Both.Absent") != std::string::npos);
  }
}

TEST_CASE("globals of every width, direct and through the pointer table") {
  const std::vector<std::pair<const char*, std::uint64_t>> values{{"untyped", 0x7F},
                                                                  {"uint8", 0x12},
                                                                  {"uint16", 0x1234},
                                                                  {"uint32", 0x1234'5678},
                                                                  {"uint64", 0x1234'5678'9abc'def0},
                                                                  {"nint", 0xabcdef0},
                                                                  {"nuint", 0xabcdef0},
                                                                  {"pointer", 0xabcdef0}};
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    for (const auto& [name, value] : values) {
      t.global(name, value, std::string_view(name) == "untyped" ? "" : name);
      t.pointer_global(std::string(name) + "Slot", value);
    }
    t.pointer_global("Null", 0).global("Zero", 0, "uint8");
    const Target target(t.memory(), read_contract_descriptor(t.memory(), t.write_descriptor()), platform);
    for (const auto& [name, value] : values) {
      CHECK(target.global(name) == value);
      CHECK(target.global(std::string(name) + "Slot") == platform.wrap(value));
    }
    CHECK_FALSE(target.find_global("Null")); // a slot of 0: not in this build
    CHECK(target.find_global("Zero") == 0u); // a value of 0 is a value
    CHECK_FALSE(target.find_global("Absent"));
    check_fault(ErrorKind::unsupported_contract, [&] { target.global("Null"); });
    check_fault(ErrorKind::unsupported_contract, [&] { target.global("Absent"); });
  }
}

TEST_CASE("string globals that look numeric are both") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    const std::vector<std::string> texts{"testString", "", "✓ with text", std::string(1024, 'a')};
    for (std::size_t i = 0; i < texts.size(); ++i) t.global("Text" + std::to_string(i), texts[i]);
    t.global("Hex", "0x1234")
        .global("Decimal", "123456")
        .global("Minus", "-1234")
        .global("MinusHex", "-0x1234");
    const Target target(t.memory(), read_contract_descriptor(t.memory(), t.write_descriptor()), platform);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string name = "Text" + std::to_string(i);
      CHECK(target.find_global_string(name) == texts[i]);
      CHECK_FALSE(target.find_global(name));
      check_fault(ErrorKind::unsupported_contract, [&] { target.global(name); });
    }
    CHECK(target.find_global_string("Hex") == "0x1234");
    CHECK(target.global("Hex") == 0x1234);
    CHECK(target.global("Decimal") == 123456);
    CHECK(target.find_global_string("Minus") == "-1234");
    CHECK(target.global("Minus") == 0 - std::uint64_t{1234});
    CHECK(target.global("MinusHex") == 0 - std::uint64_t{0x1234});
    CHECK_FALSE(target.find_global_string("Absent"));
  }
}

TEST_CASE("integers and pointers are read in the target's order and width") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    MemoryBuilder memory(platform);
    memory.at(0x1000).u64(0x8123'4567'89ab'cdef).u32(0x89ab'cdef).u16(0x1234).u8(0x56).pointer(0xfedc'ba98);
    const Target target(memory, {.platform = platform}, {});
    CHECK(target.read_u64(0x1000) == 0x8123'4567'89ab'cdef);
    CHECK(target.read_u32(0x1008) == 0x89ab'cdef);
    CHECK(target.read_i32(0x1008) == static_cast<std::int32_t>(0x89ab'cdef));
    CHECK(target.read_u16(0x100c) == 0x1234);
    CHECK(target.read_u8(0x100e) == 0x56);
    CHECK(target.read_pointer(0x100f) == 0xfedc'ba98);
    const auto fault = fault_of([&] { target.read_u64(0x100f + platform.pointer_size - 4); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::memory_missing);
    CHECK(fault->address() == 0x100f + platform.pointer_size);
    if (platform.pointer_size == 4) CHECK(target.read_u16(0xffff'ffff'0000'100c) == 0x1234); // wraps
  }
}

TEST_CASE("strings with a terminator") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    MemoryBuilder memory(platform);
    const Target target(memory, {.platform = platform}, {});
    for (const std::string& text :
         {std::string("testString"), std::string(), std::string("✓ text"), std::string(1024, 'a')})
      CHECK(target.read_utf8(memory.place_utf8(text)) == text);
    CHECK(target.read_utf16(memory.place_utf16(u"testString")) == "testString");
    CHECK(target.read_utf16(memory.place_utf16(u"")).empty());
    CHECK(target.read_utf16(memory.place_utf16(u"é✓𝄞")) == "é✓𝄞");
    CHECK(target.read_utf16(memory.place_utf16(std::u16string(1024, u'a'))) == std::string(1024, 'a'));
    const char16_t lone[] = {u'a', 0xD834, u'b', 0xDD1E, 0xD834};
    CHECK(target.read_utf16(memory.place_utf16({lone, 5})) == "a\xEF\xBF\xBD"
                                                              "b\xEF\xBF\xBD\xEF\xBF\xBD");
    const Address two = memory.place_utf16(u"abc");
    CHECK(target.read_utf16_units(two, 2) == "ab");
    CHECK(target.read_utf16_units(two, 0).empty());
    // At an odd address, as images have them.
    memory.at(0x9001).utf16(u"odd");
    CHECK(target.read_utf16(0x9001) == "odd");
  }
}

TEST_CASE("a string may end where memory ends, and has a limit") {
  MemoryBuilder memory;
  const Target target(memory, {.platform = memory.platform()}, {});
  memory.at(0x1ffd).utf8("ab");
  CHECK(target.read_utf8(0x1ffd) == "ab");
  memory.at(0x2ffe).u16('x');
  const auto cut = fault_of([&] { target.read_utf16(0x2ffe); });
  REQUIRE(cut);
  CHECK(cut->kind() == ErrorKind::memory_missing);
  CHECK(cut->address() == 0x3000u);
  const Address exact = memory.place_utf8(std::string(10, 'a'));
  CHECK(target.read_utf8(exact, 10).size() == 10);
  check_fault(ErrorKind::corrupt, [&] { target.read_utf8(exact, 9); });
  check_fault(ErrorKind::corrupt, [&] { target.read_utf16_units(exact, std::size_t{1} << 62); });
  check_fault(ErrorKind::memory_missing, [&] { target.read_utf16_units(exact, 100); });
}

TEST_CASE("the descriptor's word on CPU and OS wins over the caller's") {
  TargetBuilder t({.cpu = Cpu::arm64, .os = Os::unknown});
  const Target target(t.memory(), t.contract_descriptor(),
                      {.pointer_size = 4, .cpu = Cpu::x64, .os = Os::unix_like});
  CHECK(target.platform() == Platform{8, ByteOrder::little, Cpu::arm64, Os::unix_like});
}

TEST_CASE("a record is one read, whatever the number of its fields") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    t.type("R", {{"A"},
                 {"B", Width::u32},
                 {"C", Width::u16},
                 {"D", Width::u8},
                 {"Far", Width::u8, 0, 5000},
                 {"Before", Width::u32, 0, -8}});
    const Address at = t.memory().allocate(128) + 64;
    for (const auto& [field, value] :
         FieldValues{{"A", 0x1234'5678}, {"B", 0x9abc'def0}, {"C", 0x1122}, {"D", 0x33}, {"Before", 7}})
      t.set(at, "R", field, value);
    CountingReader counter(t.memory());
    const Target target(counter, t.contract_descriptor(), platform);
    RecordSpan span("R");
    const auto a = span.require(target, "A", platform.pointer_size), b = span.require(target, "B", 4),
               c = span.require(target, "C", 2), d = span.require(target, "D", 1),
               before = span.require(target, "Before", 4);
    CHECK_FALSE(span.optional(target, "Absent", 8));
    check_fault(ErrorKind::unsupported_contract, [&] { span.require(target, "Absent", 8); });
    check_fault(ErrorKind::unsupported_contract, [&] { span.require(target, "Far", 1); });
    const target::Record record(target, at, span);
    CHECK(record.pointer(a) == 0x1234'5678);
    CHECK(record.u32(b) == 0x9abc'def0);
    CHECK(record.u16(c) == 0x1122);
    CHECK(record.u8(d) == 0x33);
    CHECK(record.u32(before) == 7);
    CHECK(counter.reads() == 1);
    check_fault(ErrorKind::memory_missing, [&] { target::Record(target, at + 64, span); });
  }
}
