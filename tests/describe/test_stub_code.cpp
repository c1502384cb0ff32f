#include "core/describe/stub_code.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

std::vector<std::byte> stub_bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

using StubRow = std::pair<std::uint32_t, std::int64_t>;
std::vector<StubRow> stub_rows(const DebugUnwindRange& range) {
  std::vector<StubRow> rows;
  for (const DebugUnwindRow& row : range.rows) {
    CHECK(row.layout.cfa.reg == x64_register::rsp);
    REQUIRE(row.layout.find(x64_register::rip) != nullptr);
    CHECK(row.layout.find(x64_register::rip)->at.offset == row.layout.cfa.offset - 8);
    rows.emplace_back(row.offset, row.layout.cfa.offset);
  }
  return rows;
}

constexpr Platform stub_x64{.cpu = Cpu::x64};

} // namespace

TEST_CASE("stubs: what a thunk pushes is followed, thunk by thunk") {
  // lea rax, [rip]; push 1; push [rip]; jmp [rip], twice
  const auto thunk = {0x48u, 0x8Du, 0x05u, 0u, 0u,    0u,    0u, 0x6Au, 1u, 0xFFu, 0x35u,
                      0u,    0u,    0u,    0u, 0xFFu, 0x25u, 0u, 0u,    0u, 0u};
  std::vector<std::byte> code = stub_bytes(thunk);
  const std::vector<std::byte> second = code;
  code.insert(code.end(), second.begin(), second.end());
  CHECK(stub_rows(stub_unwinding(stub_x64, code, 42)) ==
        std::vector<StubRow>{{0, 8}, {9, 16}, {15, 24}, {21, 8}, {30, 16}, {36, 24}});
}

TEST_CASE("stubs: code that makes no sense has the rule of an entry") {
  CHECK(stub_rows(stub_unwinding(stub_x64, stub_bytes({0x58, 0x58}), 2)) == std::vector<StubRow>{{0, 8}});
  // push rdx, and then nothing that is known
  CHECK(stub_rows(stub_unwinding(stub_x64, stub_bytes({0x52, 0x06, 0x90}), 3)) ==
        std::vector<StubRow>{{0, 8}});
  CHECK(stub_rows(stub_unwinding(stub_x64, stub_bytes({0x52, 0x90, 0x06, 0x90}), 4)) ==
        std::vector<StubRow>{{0, 8}, {1, 16}, {2, 8}});
  // Pushes without end.
  const std::vector<std::byte> pushes(200, std::byte{0x52});
  for (const StubRow& row : stub_rows(stub_unwinding(stub_x64, pushes, 200))) CHECK(row.second <= 72);
  CHECK(stub_rows(stub_unwinding(stub_x64, {}, 4096)) == std::vector<StubRow>{{0, 8}});
}

TEST_CASE("stubs: names say the kind, and no breakpoint goes there by name") {
  const DebugCode code = stub_code(stub_x64, StubKind::fixup_precode, 0x1000, 0x5000);
  CHECK(code.full_name == "[fixup precode]");
  REQUIRE(code.unwind.size() == 1);
  CHECK(code.unwind[0].exact); // LLDB takes the rows as they stand
  CHECK_FALSE(stub_code(stub_x64, StubKind::vsd_resolve, 0x1000, 0x5000).unwind[0].exact);
  const std::vector<std::byte> push = stub_bytes({0x52});
  CHECK(stub_code(stub_x64, StubKind::vsd_resolve, 0x1000, 0x5000, push).unwind[0].exact);
  CHECK_FALSE(code.function);
  CHECK(code.start == 0x1000);
  CHECK(code.size == 0x4000);
  REQUIRE(code.unwind.size() == 1);
  CHECK(code.unwind[0].end == 0x4000);
}

TEST_CASE("stubs: on arm64 the return address is in lr") {
  const DebugUnwindRange range = stub_unwinding({.cpu = Cpu::arm64}, stub_bytes({0x52, 0, 0, 0}), 4);
  REQUIRE(range.rows.size() == 1);
  CHECK(range.rows[0].layout.cfa == RegisterOffset{arm64_register::sp, 0});
  CHECK(range.rows[0].layout.saved.empty());
}
