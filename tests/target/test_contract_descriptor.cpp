// The structure, its tables and its sub-descriptors, after the reference reader's TargetTests.
#include "core/memory/counting_reader.h"
#include "core/target/contract_descriptor.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

Fault read_fault(MemoryReader& memory, Address address) {
  return fault_of([&] { read_contract_descriptor(memory, address); });
}

void check_corrupt(MemoryReader& memory, Address address, std::string_view says = {}) {
  const auto fault = read_fault(memory, address);
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
  INFO(fault->what());
  CHECK(std::string_view(fault->what()).find(says) != std::string_view::npos);
}

// A descriptor with the type T<n>, the global G<n> and the contract C<n>, and sub-descriptors whose variables
// are at `variables`.
Address write_numbered(TargetBuilder& t, unsigned n, const std::vector<Address>& variables) {
  std::string subs;
  for (std::size_t i = 0; i < variables.size(); ++i)
    subs += fmt::format("{}\"Sub{}_{}\":[[{}],\"pointer\"]", i == 0 ? "" : ",", n, i, i + 1);
  std::vector<Address> slots{0};
  slots.insert(slots.end(), variables.begin(), variables.end());
  slots.push_back(0x1000 + n);
  return t.write_descriptor(
      fmt::format(
          R"({{"types":{{"T{0}":{{"!":{1},"f":{0}}}}},"globals":{{"G{0}":[[{2}],"pointer"]}},"contracts":{{"C{0}":{0}}},)"
          R"("subDescriptors":{{{3}}}}})",
          n, n + 8, slots.size() - 1, subs),
      slots);
}

Address variable_with(TargetBuilder& t, Address value) {
  return t.memory().fresh(t.platform().pointer_size).pointer(value).address() - t.platform().pointer_size;
}

void check_has(const ContractDescriptor& d, unsigned n) {
  INFO("descriptor " << n);
  REQUIRE(d.types.contains(fmt::format("T{}", n)));
  CHECK(d.types.at(fmt::format("T{}", n)).size == n + 8);
  REQUIRE(d.globals.contains(fmt::format("G{}", n)));
  CHECK(d.globals.at(fmt::format("G{}", n)).number == 0x1000 + n); // by its own table
  CHECK(d.contracts.at(fmt::format("C{}", n)) == std::to_string(n));
}

} // namespace

TEST_CASE("pointer size and byte order come from flags and magic, CPU and OS from globals") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    t.global("Architecture", "arm64").global("OperatingSystem", "1");
    const Address address = t.write_descriptor();
    const ContractDescriptor d = read_contract_descriptor(t.memory(), address);
    CHECK(d.address == address);
    CHECK(d.platform == Platform{platform.pointer_size, platform.byte_order, Cpu::arm64, Os::unix_like});
  }
  for (const auto& [name, os] :
       {std::pair{"unix", Os::unix_like}, {"windows", Os::windows}, {"x", Os::unknown}}) {
    TargetBuilder t({});
    t.global("OperatingSystem", name);
    CHECK(read_contract_descriptor(t.memory(), t.write_descriptor()).platform.os == os);
  }
}

TEST_CASE("the bytes of the magic on both byte orders") {
  for (const bool big : {false, true}) {
    MemoryBuilder memory({.pointer_size = 8, .byte_order = big ? ByteOrder::big : ByteOrder::little});
    memory.place_utf8("{}");
    auto cursor = memory.fresh(40);
    const Address address = cursor.address();
    if (big)
      cursor.bytes({0x00, 0x43, 0x41, 0x44, 0x43, 0x43, 0x4E, 0x44});
    else
      cursor.bytes({0x44, 0x4E, 0x43, 0x43, 0x44, 0x41, 0x43, 0x00});
    cursor.u32(1).u32(2).pointer(memory.place_utf8("{}")).u32(0).u32(0).pointer(Address{0});
    CHECK(read_contract_descriptor(memory, address).platform.byte_order == memory.platform().byte_order);
  }
}

TEST_CASE("the JSON ends by its size and not by a terminator") {
  TargetBuilder t({});
  const std::string json = R"({"contracts":{"C":1}}garbage)";
  const Address text = t.memory().place_utf8(json);
  const Address table = t.memory().fresh(8).address();
  CHECK(read_contract_descriptor(t.memory(), t.write_structure(text, json.size() - 7, table, 1))
            .contracts.at("C") == "1");
  check_corrupt(t.memory(), t.write_structure(text, json.size(), table, 1));
}

TEST_CASE("indirect globals take the content of their slot, cut to the target's width") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    const Address address = t.write_descriptor(
        R"({"globals":{"A":[[1],"uint8"],"B":[[2],"uint64"],"C":[["0x3"],"pointer"],"D":[4],"Z":[[0],"pointer"]}})",
        {0, 0x7F, 0x1234'5678'9abc'def0, 0xabcd'ef00, 5});
    const ContractDescriptor d = read_contract_descriptor(t.memory(), address);
    CHECK(d.globals.at("A").number == 0x7Fu);
    CHECK(d.globals.at("B").number == (platform.pointer_size == 8 ? 0x1234'5678'9abc'def0 : 0x9abc'def0));
    CHECK(d.globals.at("C").number == 0xabcd'ef00u);
    CHECK_FALSE(d.globals.at("C").text); // the text was the index
    CHECK(d.globals.at("D").number == 5u);
    CHECK(d.globals.at("Z").number == 0u);
    CHECK(d.globals.at("A").indirect);
  }
}

TEST_CASE("a lying structure is corrupt") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    MemoryBuilder& memory = t.memory();
    const Address text = memory.place_utf8("{}"), table = memory.fresh(64).address();
    check_corrupt(memory, memory.allocate(64));                            // zeros
    check_corrupt(memory, t.write_structure(text, 0, table, 1));           // no JSON
    check_corrupt(memory, t.write_structure(text, 0xffff'ffff, table, 1)); // 4 GiB of JSON
    check_corrupt(memory, t.write_structure(text, 4 * 1024 * 1024 + 1, table, 1));
    check_corrupt(memory, t.write_structure(text, 2, table, 0xffff'ffff)); // 4 Gi slots
    check_corrupt(memory, t.write_structure(text, 2, table, 65537));
    const Address flagless = t.write_structure(text, 2, table, 1);
    memory.write_integer(flagless + 8, platform.pointer_size == 8 ? 0 : 2, 4); // bit 0 is always 1
    check_corrupt(memory, flagless);
    const Address reserved = t.write_structure(text, 2, table, 1);
    memory.write_integer(reserved + 8, platform.pointer_size == 8 ? 0xffff'fffd : 0xffff'ffff, 4);
    CHECK_FALSE(read_fault(memory, reserved));
    for (unsigned byte = 0; byte < 8; ++byte) {
      const Address damaged = t.write_structure(text, 2, table, 1);
      memory.write_integer(damaged + byte, 0x55, 1);
      check_corrupt(memory, damaged);
    }
    check_corrupt(memory, t.write_descriptor(R"({"globals":{"G":[[2],"pointer"]}})", {0, 1}));
    check_corrupt(memory, t.write_descriptor(R"({"globals":{"G":[-1]}})", {0, 1}));
    // A sub-descriptor's index costs the sub-descriptor only.
    CHECK(read_contract_descriptor(memory,
                                   t.write_descriptor(R"({"subDescriptors":{"G":[[2],"pointer"]}})", {0, 1}))
              .problems.size() == 1);
  }
}

TEST_CASE("missing memory is a fault that names the first missing byte") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    const auto missing = [&](MemoryReader& memory, Address address) {
      const auto fault = read_fault(memory, address);
      REQUIRE(fault);
      CHECK(fault->kind() == ErrorKind::memory_missing);
      return fault->address().value();
    };
    TargetBuilder t(platform);
    MemoryBuilder& memory = t.memory();
    CHECK(missing(memory, 0x10) == 0x10);
    const Address text = memory.place_utf8("{ }"), table = memory.allocate(64);
    const Address cut = t.write_structure(text, 3, table, 1);
    memory.erase(cut + (platform.pointer_size == 8 ? 39 : 31), 1);
    CHECK(missing(memory, cut) == cut + (platform.pointer_size == 8 ? 39 : 31));
    CHECK(missing(memory, t.write_structure(text, 5, table, 1)) == text + 4);
    CHECK(missing(memory, t.write_structure(text, 3, table, 100)) == table + 64);
    CHECK(missing(memory, t.write_structure(text, 3, 0xffff'fff0, 65536)) == 0xffff'fff0);
    // A 32-bit structure may be the last thing in memory, and its neighbour is not needed.
    CHECK_FALSE(read_fault(memory, t.write_structure(text, 3, table, 1)));
  }
}

TEST_CASE("sub-descriptors: one, a chain of five, four siblings") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    {
      TargetBuilder t(platform);
      const Address sub = write_numbered(t, 1, {});
      const auto d = read_contract_descriptor(t.memory(), write_numbered(t, 0, {variable_with(t, sub)}));
      check_has(d, 0);
      check_has(d, 1);
      CHECK(d.sub_descriptors.empty());
    }
    {
      TargetBuilder t(platform);
      Address next = write_numbered(t, 5, {});
      for (unsigned n = 5; n-- > 0;) next = write_numbered(t, n, {variable_with(t, next)});
      const auto d = read_contract_descriptor(t.memory(), next);
      for (unsigned n = 0; n <= 5; ++n) check_has(d, n);
      CHECK(d.address == next);
    }
    {
      TargetBuilder t(platform);
      std::vector<Address> variables;
      for (unsigned n = 1; n <= 4; ++n) variables.push_back(variable_with(t, write_numbered(t, n, {})));
      const auto d = read_contract_descriptor(t.memory(), write_numbered(t, 0, variables));
      for (unsigned n = 0; n <= 4; ++n) check_has(d, n);
    }
  }
}

TEST_CASE("a sub-descriptor that is not there yet leaves the rest") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    const Address torn = write_numbered(t, 2, {});
    t.memory().erase(torn + 16, 4);
    const Address null_variable = variable_with(t, 0), torn_variable = variable_with(t, torn);
    const Address present = variable_with(t, write_numbered(t, 1, {null_variable}));
    const Address root = write_numbered(t, 0, {0, 0x10, null_variable, torn_variable, present});
    const ContractDescriptor d = read_contract_descriptor(t.memory(), root);
    check_has(d, 0);
    check_has(d, 1);
    CHECK_FALSE(d.types.contains("T2"));
    CHECK(d.sub_descriptors.size() == 5);
    CHECK(d.sub_descriptors.at("Sub0_0").number == 0u);
    CHECK(d.sub_descriptors.at("Sub0_1").number == 0x10u);
    CHECK(d.sub_descriptors.at("Sub0_2").number == null_variable);
    CHECK(d.sub_descriptors.at("Sub0_3").number == torn_variable);
    CHECK(d.sub_descriptors.at("Sub1_0").number == null_variable);
    // The process ran on and the variable was set.
    t.memory().at(null_variable).pointer(write_numbered(t, 3, {}));
    TargetBuilder fresh(platform);
    const Address later = write_numbered(t, 4, {null_variable});
    check_has(read_contract_descriptor(t.memory(), later), 3);
  }
}

// The descriptor at `address` is read without what is wrong in it, and says what that is.
void check_left_out(MemoryReader& memory, Address address, std::string_view why) {
  const ContractDescriptor d = read_contract_descriptor(memory, address);
  INFO(why);
  CHECK_FALSE(d.types.empty());
  CHECK(std::ranges::any_of(
      d.problems, [&](const std::string& problem) { return problem.find(why) != std::string::npos; }));
}

TEST_CASE("a sub-descriptor that contradicts the others is left out, with a problem") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    // Each kind of name twice.
    for (const char* json :
         {R"({"types":{"T0":{}}})", R"({"globals":{"G0":1}})", R"({"contracts":{"C0":1}})"})
      check_left_out(t.memory(), write_numbered(t, 0, {variable_with(t, t.write_descriptor(json, {0}))}),
                     "repeats");
    // Siblings among each other.
    const Address one = variable_with(t, write_numbered(t, 1, {})),
                  again = variable_with(t, write_numbered(t, 1, {}));
    check_left_out(t.memory(), write_numbered(t, 0, {one, again}), "repeats");
    // No descriptor at all.
    check_left_out(t.memory(), write_numbered(t, 0, {variable_with(t, t.memory().allocate(64))}), "magic");
    // Of another version, torn text, and text that names a pointer beyond the table.
    for (const auto& [json, why] : {std::pair{R"({"version":1})", "version 1"},
                                    {R"({"types":)", "JSON"},
                                    {R"({"globals":{"X":[9]}})", "pointer 9"}})
      check_left_out(t.memory(), write_numbered(t, 0, {variable_with(t, t.write_descriptor(json, {0}))}),
                     why);
    // Loops: of one, and of two.
    const Address self_variable = variable_with(t, 0);
    const Address self = write_numbered(t, 0, {self_variable});
    t.memory().at(self_variable).pointer(self);
    check_left_out(t.memory(), self, "loop");
    const Address back = variable_with(t, 0);
    const Address first = write_numbered(t, 0, {variable_with(t, write_numbered(t, 1, {back}))});
    t.memory().at(back).pointer(first);
    check_left_out(t.memory(), first, "loop");
    // Deeper than anybody needs.
    Address next = write_numbered(t, 100, {});
    for (unsigned n = 100; n-- > 0;) next = write_numbered(t, n, {variable_with(t, next)});
    check_left_out(t.memory(), next, "too many");
    // More than anybody needs.
    std::vector<Address> variables;
    for (unsigned n = 1; n <= 70; ++n) variables.push_back(variable_with(t, write_numbered(t, n, {})));
    check_left_out(t.memory(), write_numbered(t, 0, variables), "too many");
  }
}

TEST_CASE("sub-descriptors share the room for text, though each names the same one") {
  TargetBuilder t({});
  const std::string spaces(1u << 20, ' ');
  const Address text = t.memory().place_utf8("{}" + spaces), table = t.memory().fresh(8).address();
  std::vector<Address> variables;
  for (unsigned n = 0; n < 20; ++n)
    variables.push_back(variable_with(t, t.write_structure(text, spaces.size(), table, 1)));
  const Address root = write_numbered(t, 0, variables);
  DescriptorRoom room;
  CountingReader counter(t.memory());
  const ContractDescriptor d = read_contract_descriptor(counter, root, room);
  check_has(d, 0);
  CHECK(d.problems.size() == 13); // of 20: seven, and what the root takes, fill 8 MiB
  CHECK(d.problems.back().find("more than 8388608 bytes together") != std::string::npos);
  CHECK(counter.bytes() < 9u << 20);
  CHECK(room.left < spaces.size());
  // Another one that shares it finds none.
  const auto fault = fault_of(
      [&] { read_contract_descriptor(t.memory(), t.write_structure(text, spaces.size(), table, 1), room); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
}

TEST_CASE("sub-descriptors without number are left out, and their names are cut") {
  TargetBuilder t({});
  std::string subs = fmt::format("\"{}\":[[9],\"pointer\"]", std::string(100'000, 'n'));
  for (unsigned i = 0; i < 1000; ++i) subs += fmt::format(",\"s{}\":[[9],\"pointer\"]", i);
  const Address root = t.write_descriptor(R"({"types":{"T":{}},"subDescriptors":{)" + subs + "}}", {0});
  const ContractDescriptor d = read_contract_descriptor(t.memory(), root);
  CHECK(d.types.contains("T"));
  REQUIRE(d.problems.size() == ContractDescriptor::max_sub_descriptors + 1);
  CHECK(d.problems.back() ==
        fmt::format("{} more sub-descriptors are left out", 1001 - ContractDescriptor::max_sub_descriptors));
  CHECK(std::ranges::all_of(d.problems, [](const std::string& problem) {
    return problem.size() <= ContractDescriptor::max_problem_bytes;
  }));
}

TEST_CASE("a sub-descriptor of another word size or byte order is left out") {
  for (const Platform& platform : all_platforms())
    for (const Platform& other : all_platforms()) {
      if (other == platform) continue;
      TargetBuilder foreign(other);
      const Address sub = foreign.write_descriptor("{}", {0});
      std::array<std::byte, 32> structure;
      foreign.memory().read(sub, structure);
      TargetBuilder t(platform);
      for (int i = 0; i < 16; ++i) t.memory().allocate(64); // away from the addresses of `foreign`
      MemoryBuilder& memory = t.memory();
      // Its parts at the same addresses; builders allocate alike.
      std::array<std::byte, 40> bytes{};
      const std::size_t size = foreign.memory().read_some(sub, bytes);
      const Address copy = sub + 0x10'0000;
      memory.write(copy, std::span(bytes).first(size));
      memory.at(0x10'0010).text("{}");
      memory.at(0x10'0020).fill(16);
      check_left_out(memory, write_numbered(t, 0, {variable_with(t, copy)}), "byte order or pointer size");
    }
}

TEST_CASE("reading costs three reads, and four for each sub-descriptor") {
  TargetBuilder t({});
  const Address sub = write_numbered(t, 1, {});
  const Address root = write_numbered(t, 0, {variable_with(t, sub)});
  CountingReader counter(t.memory());
  read_contract_descriptor(counter, sub);
  CHECK(counter.reads() == 3);
  counter.reset();
  read_contract_descriptor(counter, root);
  CHECK(counter.reads() == 7);
}

TEST_CASE("whichever read fails, the answer is a fault or lacks the sub-descriptor") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    const Address root = write_numbered(t, 0, {variable_with(t, write_numbered(t, 1, {}))});
    const std::uint64_t reads = for_each_failing_read(t.memory(), [&](MemoryReader& memory, std::uint64_t k) {
      INFO("read " << k);
      std::optional<ContractDescriptor> d;
      const auto fault = fault_of([&] { d = read_contract_descriptor(memory, root); });
      if (k >= 1 && k <= 3) {
        REQUIRE(fault);
        CHECK(fault->kind() == ErrorKind::memory_missing);
        return;
      }
      REQUIRE_FALSE(fault);
      check_has(*d, 0);
      CHECK(d->types.contains("T1") == (k == 0 || k > 7));
      CHECK(d->sub_descriptors.empty() == (k == 0 || k > 7));
    });
    CHECK(reads == 7);
  }
}
