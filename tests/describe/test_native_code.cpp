#include "core/describe/native_code.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::x64_register;

namespace {

constexpr Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};

FrameLayout layout(std::int64_t cfa) {
  FrameLayout made;
  made.cfa = {rsp, cfa};
  made.save(rip, {rsp, cfa - 8});
  return made;
}

NativePlace place(Address lookup, Address start, std::string name, std::int64_t cfa) {
  return {.lookup = lookup, .start = start, .name = std::move(name), .layout = layout(cfa)};
}

DebugModule described(std::vector<NativePlace> places, std::size_t dropped = 0) {
  std::size_t count = 0;
  DebugModule module = describe_native("lib.so", x64, std::move(places), count);
  CHECK(count == dropped);
  return module;
}

} // namespace

TEST_CASE("native code: a function as far as its last place, with a row for each", "[native_code]") {
  const DebugModule module =
      described({place(0x5040, 0x5000, "read", 32), place(0x5010, 0x5000, "read", 16)});
  CHECK(module.file_name == "lib.so");
  REQUIRE(module.code.size() == 1);
  const DebugCode& code = module.code[0];
  CHECK(code.start == 0x5000);
  CHECK(code.size == 0x42); // the return address behind the last place is within it
  CHECK(code.full_name == "read");
  CHECK_FALSE(code.function);
  REQUIRE(code.unwind.size() == 1);
  CHECK(code.unwind[0].exact);
  REQUIRE(code.unwind[0].rows.size() == 2);
  // The first row holds from the start of the function on.
  CHECK(code.unwind[0].rows[0].offset == 0);
  CHECK(code.unwind[0].rows[0].layout.cfa.offset == 16);
  CHECK(code.unwind[0].rows[1].offset == 0x40);
  CHECK(code.unwind[0].rows[1].layout.cfa.offset == 32);
  REQUIRE(module.sections.size() == 1);
  CHECK(module.sections[0].begin == 0x5000);
  CHECK(module.sections[0].end == 0x5042);
  CHECK(module.sections[0].bytes.empty());
}

TEST_CASE("native code: functions overlap nothing", "[native_code]") {
  const DebugModule module = described({place(0x5010, 0x5000, "a", 16), place(0x5011, 0x5011, "b", 24),
                                        place(0x5030, 0x5010, "c", 32), place(0x6000, 0x6000, "d", 8)});
  REQUIRE(module.code.size() == 3);
  CHECK(module.code[0].size == 0x11); // b begins behind it
  // That c begins before b's place is not believed.
  CHECK(module.code[1].name == "b");
  CHECK(module.code[1].size == 0x21);
  CHECK(module.code[1].unwind[0].rows.size() == 2);
  CHECK(module.code[2].start == 0x6000);
}

TEST_CASE("native code: a frame whose caller nothing tells has a name", "[native_code]") {
  NativePlace lost = place(0x5010, 0x5000, "read", 16);
  lost.layout.reset();
  const DebugModule module = described({lost});
  REQUIRE(module.code.size() == 1);
  CHECK(module.code[0].name == "read");
  CHECK(module.code[0].unwind.empty());
  const DebugModule both = described({lost, place(0x5020, 0x5000, "read", 16)});
  REQUIRE(both.code[0].unwind.size() == 1);
  CHECK(both.code[0].unwind[0].rows.size() == 1);
}

TEST_CASE("native code: a signal trampoline", "[native_code]") {
  NativePlace trampoline = place(0x5000, 0x5000, "__restore_rt", 0);
  trampoline.layout->interrupted = true;
  CHECK(described({trampoline}).code[0].unwind[0].interrupted);
}

TEST_CASE("native code: what makes no sense is counted", "[native_code]") {
  CHECK(described({place(0x5000, 0x5001, "behind", 8), place(0x5000 + max_native_size + 1, 0x5000, "far", 8),
                   place(~Address{0}, ~Address{0}, "end", 8)},
                  3)
            .code.empty());
  std::vector<NativePlace> many;
  for (Address at = 0; at < max_native_functions + 5; ++at)
    many.push_back(place(0x10000 + at * 16, 0x10000 + at * 16, "f", 8));
  CHECK(described(many, 5).code.size() == max_native_functions);
}

TEST_CASE("native code: frames whose callers are known one by one", "[native_code]") {
  RegisterContext caller(Cpu::x64);
  caller.set_pc(0x1234);
  caller.set_sp(0x7000);
  NativePlace lost = place(0x5010, 0x5000, "wait", 16);
  lost.jumps = {
      {.sp = 0x6800, .caller = caller}, {.sp = 0x6000, .caller = caller}, {.sp = 0x6800, .caller = caller}};
  const DebugModule module = described({lost, place(0x5020, 0x5000, "wait", 32)});
  const DebugUnwindRows& rows = module.code.at(0).unwind.at(0).rows;
  REQUIRE(rows.size() == 2);
  REQUIRE(rows[0].jumps != nullptr);
  REQUIRE(rows[0].jumps->size() == 2);
  CHECK(rows[0].jumps->front().sp == 0x6000);
  CHECK(rows[0].jumps->back().sp == 0x6800);
  CHECK(rows[1].jumps == nullptr);
}
