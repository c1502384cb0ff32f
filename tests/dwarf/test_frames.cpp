#include "tests/dwarf/written_module.h"

using namespace clr;

namespace {

constexpr Address base = 0x7000'0000;
constexpr unsigned rbx = 3, rbp = 6, rsp = 7, r12 = 12, rip = 16, xmm6 = 23;
constexpr unsigned fp = 29, lr = 30, sp = 31, pc = 32, v8 = 72;
constexpr Platform arm64{8, ByteOrder::little, Cpu::arm64, Os::unix_like};

// CFA = reg + offset; registers at offsets from the CFA.
FrameLayout layout(unsigned reg, std::int64_t offset, std::vector<std::pair<unsigned, std::int64_t>> saved) {
  FrameLayout made;
  made.cfa = {reg, offset};
  for (const auto& [number, at] : saved) made.save(number, {reg, offset + at});
  return made;
}

// push rbp; push rbx; sub rsp, 32; lea rbp, [rsp + 40]; ... add; pop; pop; ret
DebugUnwindRange frame_range(std::uint32_t begin) {
  DebugUnwindRange range{.begin = begin, .end = begin + 32, .exact = true};
  range.rows = {{begin, layout(rsp, 8, {{rip, -8}})},
                {begin + 1, layout(rsp, 16, {{rip, -8}, {rbp, -16}})},
                {begin + 2, layout(rsp, 24, {{rip, -8}, {rbp, -16}, {rbx, -24}})},
                {begin + 6, layout(rsp, 56, {{rip, -8}, {rbp, -16}, {rbx, -24}})},
                {begin + 11, layout(rbp, 16, {{rip, -8}, {rbp, -16}, {rbx, -24}})},
                {begin + 29, layout(rsp, 16, {{rip, -8}, {rbp, -16}})},
                {begin + 31, layout(rsp, 8, {{rip, -8}})}};
  return range;
}

DebugModule module_with(std::vector<DebugUnwindRange> ranges, std::uint64_t size = 0x100,
                        Platform platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like}) {
  DebugModule module = module_at(base, platform);
  module.code.push_back(code_at(base + 0x40, size, "Run"));
  module.code[0].unwind = std::move(ranges);
  return module;
}

void check_frame(const ModuleReadBack& written, Address at) {
  struct Row {
    unsigned from, to;
    std::string cfa;
    std::optional<std::string> rbp, rbx;
  };
  const std::vector<Row> rows{{0, 1, "7+8", {}, {}},
                              {1, 2, "7+16", "cfa -16", {}},
                              {2, 6, "7+24", "cfa -16", "cfa -24"},
                              {6, 11, "7+56", "cfa -16", "cfa -24"},
                              {11, 29, "6+16", "cfa -16", "cfa -24"},
                              {29, 31, "7+16", "cfa -16", "same"},
                              {31, 32, "7+8", "same", "same"}};
  for (const Row& row : rows)
    for (unsigned offset = row.from; offset < row.to; ++offset) {
      INFO(offset);
      const auto rules = written.rules(at + offset);
      REQUIRE(rules);
      CHECK(rules->cfa == row.cfa);
      CHECK(rules->of(rip) == "cfa -8");
      // libdw takes callee-saved registers without a rule for unchanged.
      CHECK(rules->of(rbp) == row.rbp.value_or("same"));
      CHECK(rules->of(rbx) == row.rbx.value_or("same"));
      CHECK(rules->return_column == rip);
      CHECK_FALSE(rules->signal);
    }
}

} // namespace

TEST_CASE("each row of a frame holds at its instructions") {
  const ModuleReadBack written(module_with({frame_range(0)}));
  check_frame(written, base + 0x40);
  CHECK_FALSE(written.rules(base + 0x40 - 1));
  CHECK_FALSE(written.rules(base + 0x40 + 32));
}

TEST_CASE("lists of rows that many share are the same in each place") {
  DebugModule module = module_at(base);
  const DebugUnwindRange shared = frame_range(0);
  for (unsigned i = 0; i < 4; ++i) {
    module.code.push_back(code_at(base + i * 0x80, 0x80, "Run"));
    module.code.back().unwind = {shared};
  }
  module.code[1].unwind[0].exact = false;
  module.code[2].unwind.push_back(frame_range(32));
  module.code[3].unwind[0].end = 31; // the last row begins behind it
  const ModuleReadBack written(module);
  check_frame(written, base);
  check_frame(written, base + 0x80);
  check_frame(written, base + 0x100);
  check_frame(written, base + 0x100 + 32);
  CHECK_FALSE(written.rules(base + 0x180));
}

TEST_CASE("behind a list that is shared the rules go on from its last") {
  DebugUnwindRange body = frame_range(0);
  body.rows = DebugUnwindRows::List(body.rows.begin(), body.rows.begin() + 5); // no epilogue
  DebugModule module = module_at(base);
  for (unsigned i = 0; i < 2; ++i) {
    module.code.push_back(code_at(base + i * 0x80, 0x80, "Run"));
    module.code.back().unwind = {body, frame_range(32)};
  }
  const ModuleReadBack written(module);
  for (const Address at : {base, base + 0x80}) {
    CHECK(written.rules(at + 31)->cfa == "6+16");
    CHECK(written.rules(at + 31)->of(rbx) == "cfa -24");
    CHECK(written.rules(at + 32)->of(rbx) == "same");
    check_frame(written, at + 32);
  }
}

TEST_CASE("funclets share the description of their method") {
  const ModuleReadBack written(module_with({frame_range(0), frame_range(32), frame_range(80)}));
  for (const unsigned begin : {0u, 32u, 80u}) {
    check_frame(written, base + 0x40 + begin);
  }
  CHECK(written.descriptions() == std::vector<std::pair<Address, Address>>{{base + 0x40, base + 0x40 + 112}});
}

TEST_CASE("where nothing is known for long there is no description") {
  const ModuleReadBack written(module_with({frame_range(0), frame_range(0xc0)}));
  check_frame(written, base + 0x40);
  check_frame(written, base + 0x40 + 0xc0);
  CHECK_FALSE(written.rules(base + 0x40 + 0x80));
}

TEST_CASE("ranges that make no sense are left out") {
  const auto broken = [](auto change) {
    DebugUnwindRange range = frame_range(0);
    DebugUnwindRows::List rows = range.rows.list();
    change(range, rows);
    range.rows = rows;
    const ModuleReadBack written(module_with({range, frame_range(0x80)}));
    check_frame(written, base + 0x40 + 0x80);
    return !written.rules(base + 0x40);
  };
  using Rows = DebugUnwindRows::List;
  CHECK(broken([](auto&, Rows& rows) { std::swap(rows[2], rows[3]); }));
  CHECK(broken([](auto&, Rows& rows) { rows[3].layout.cfa.reg = 17; }));
  CHECK(broken([](auto&, Rows& rows) { rows[3].layout.cfa.reg = ~0u; }));
  CHECK(broken([](auto&, Rows& rows) { rows[3].layout.cfa.offset = std::int64_t{1} << 62; }));
  CHECK(broken(
      [](auto&, Rows& rows) { rows[3].layout.cfa.offset = std::numeric_limits<std::int64_t>::min(); }));
  CHECK(broken([](auto&, Rows& rows) { rows[3].layout.saved.clear(); })); // no return address
  CHECK(broken([](auto&, Rows& rows) { rows[3].layout.saved[0].at.reg = 99; }));
  CHECK(broken([](auto&, Rows& rows) { rows.clear(); }));
  CHECK(broken([](auto&, Rows& rows) { rows[0].offset = 1; }));
  CHECK(broken([](DebugUnwindRange& range, auto&) { range.end = 20; }));
  CHECK(broken([](DebugUnwindRange& range, auto&) { range.end = 0x101; }));
  CHECK(broken([](DebugUnwindRange& range, auto&) { range.end = 0; }));
  CHECK_FALSE(broken([](auto&, Rows& rows) { rows[3].layout.save(200, {rsp, 0}); })); // only this is left out
  const ModuleReadBack written(module_with({frame_range(64), frame_range(0)}));       // in no order
  CHECK(written.rules(base + 0x40 + 64));
  CHECK_FALSE(written.rules(base + 0x40));
}

TEST_CASE("slots at other registers, above the CFA and of vector registers") {
  FrameLayout odd = layout(rbp, 16, {{rip, -8}, {xmm6, -33}, {r12, 8}});
  odd.save(rbx, {rsp, -300});
  odd.save(rbp, {rsp, 5});
  DebugUnwindRange range{.begin = 0, .end = 4};
  range.rows = {{0, odd}, {2, layout(rsp, -24, {{rip, -8}})}};
  const ModuleReadBack written(module_with({range}));
  const auto rules = written.rules(base + 0x40);
  REQUIRE(rules);
  CHECK(rules->of(xmm6) == "cfa -33");
  CHECK(rules->of(r12) == "cfa +8");
  CHECK(rules->of(rbx) == "cfa 7-300");
  CHECK(rules->of(rbp) == "cfa 7+5");
  const auto next = written.rules(base + 0x42);
  CHECK(next->cfa == "7-24");
  CHECK(next->of(xmm6) == "same");
  CHECK(next->of(rbx) == "same");
}

TEST_CASE("interrupted code: every register lives, the stack pointer is stored") {
  FrameLayout trap = layout(rsp, 40, {{rip, -40}});
  trap.stack_pointer_at = RegisterOffset{rsp, 24};
  trap.interrupted = true;
  DebugUnwindRange range{.begin = 0, .end = 16};
  range.rows = {{0, trap}};
  const ModuleReadBack written(module_with({range, frame_range(16)}));
  const auto rules = written.rules(base + 0x40);
  REQUIRE(rules);
  CHECK(rules->signal);
  CHECK(rules->of(rsp) == "cfa -16");
  CHECK(rules->of(rip) == "cfa -40");
  CHECK(rules->of(0) == "same");
  check_frame(written, base + 0x40 + 16); // which is no signal's
}

TEST_CASE("the outermost function has no return address") {
  FrameLayout start = layout(rsp, 8, {{rip, -8}});
  start.outermost = true;
  DebugUnwindRange range{.begin = 0, .end = 16, .interrupted = true};
  range.rows = {{0, start}, {4, layout(rsp, 8, {{rip, -8}})}};
  const ModuleReadBack written(module_with({range}));
  CHECK(written.rules(base + 0x40)->saved.count(rip) == 0); // undefined
  CHECK(written.rules(base + 0x44)->of(rip) == "cfa -8");
  CHECK(written.rules(base + 0x44)->signal);
}

TEST_CASE("arm64: the return address is in lr until it is stored") {
  DebugUnwindRange range{.begin = 0, .end = 32};
  range.rows = {{0, layout(sp, 0, {})},
                {4, layout(sp, 32, {{fp, -32}, {lr, -24}, {v8, -16}})},
                {8, layout(fp, 32, {{fp, -32}, {lr, -24}, {v8, -16}})},
                {28, layout(sp, 0, {})}};
  const ModuleReadBack written(module_with({range}, 0x100, arm64));
  const auto entry = written.rules(base + 0x40, 96), body = written.rules(base + 0x48, 96),
             ret = written.rules(base + 0x40 + 28, 96);
  REQUIRE(entry);
  CHECK(entry->cfa == "31+0");
  CHECK(entry->return_column == lr);
  CHECK(body->cfa == "29+32");
  CHECK(body->of(lr) == "cfa -24");
  CHECK(body->of(fp) == "cfa -32");
  CHECK(body->of(v8) == "cfa -16");
  CHECK(ret->cfa == "31+0");
  CHECK(ret->of(lr) == "same");

  FrameLayout trap = layout(sp, 64, {{pc, -8}, {lr, -16}});
  trap.interrupted = true;
  DebugUnwindRange stub{.begin = 0, .end = 8};
  stub.rows = {{0, trap}};
  const ModuleReadBack signal(module_with({stub}, 0x100, arm64));
  const auto rules = signal.rules(base + 0x40);
  REQUIRE(rules);
  CHECK(rules->return_column == pc);
  CHECK(rules->of(pc) == "cfa -8");
  CHECK(rules->of(lr) == "cfa -16");
  CHECK(rules->signal);
}

TEST_CASE("arm64: a signed return address is marked while it is one") {
  FrameLayout signed_layout = layout(sp, 0, {});
  signed_layout.signed_return_address = true;
  DebugUnwindRange range{.begin = 0, .end = 16};
  range.rows = {{0, layout(sp, 0, {})}, {4, signed_layout}, {12, layout(sp, 0, {})}};
  const ModuleReadBack written(module_with({range}, 0x100, arm64));
  const auto frames = written.contents(*written.section(".debug_frame"));
  // advance 4, negate, advance 8, negate.
  const std::vector<std::byte> expected{std::byte{0x44}, std::byte{0x2d}, std::byte{0x48}, std::byte{0x2d}};
  CHECK(std::search(frames.begin(), frames.end(), expected.begin(), expected.end()) != frames.end());
}

TEST_CASE("both classes and byte orders have the same rules") {
  for (const Platform& platform : written_platforms()) {
    const bool x64 = platform.cpu == Cpu::x64;
    const auto word = static_cast<std::int64_t>(platform.pointer_size);
    const unsigned stack = x64 ? rsp : sp, saved = x64 ? rbp : fp, ra = x64 ? rip : lr;
    DebugUnwindRange range{.begin = 0, .end = 0x10000};
    range.rows = {{0, layout(stack, x64 ? word : 0,
                             x64 ? std::vector<std::pair<unsigned, std::int64_t>>{{rip, -word}}
                                 : std::vector<std::pair<unsigned, std::int64_t>>{})},
                  {200, layout(stack, 2 * word, {{ra, -word}, {saved, -2 * word}})},
                  {60000, layout(saved, 400, {{ra, -word}, {saved, -2 * word}})}};
    DebugModule module = module_with({range}, 0x10000, platform);
    module.sections[0].end = base + 0x20000;
    const ModuleReadBack written(module);
    const auto last = written.rules(base + 0x40 + 60000), middle = written.rules(base + 0x40 + 200);
    REQUIRE(last);
    CHECK(last->cfa == std::to_string(saved) + "+400");
    CHECK(last->of(saved) == "cfa " + std::to_string(-2 * word));
    CHECK(middle->cfa == std::to_string(stack) + "+" + std::to_string(2 * word));
    CHECK(written.descriptions() == std::vector<std::pair<Address, Address>>{{base + 0x40, base + 0x10040}});
  }
}
