// Frame layouts as text.
#include "core/stack/unwind_report.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("a layout in words", "[stack][unwind_report]") {
  using namespace x64_register;
  FrameLayout layout;
  layout.cfa = {rbp, 0x10};
  layout.save(rip, {rbp, 8});
  layout.save(rbx, {rsp, 0x20});
  layout.save(17 + 6, {rbp, -0x30});
  CHECK(describe_layout(Cpu::x64, layout) == std::vector<std::string>{"CFA = rbp + 0x10", "rip at CFA - 0x8",
                                                                      "rbx at rsp + 0x20",
                                                                      "xmm6 at CFA - 0x40"});

  FrameLayout leaf;
  leaf.cfa = {arm64_register::sp, 0};
  CHECK(describe_layout(Cpu::arm64, leaf) ==
        std::vector<std::string>{"CFA = sp", "the return address is in lr"});
  FrameLayout outermost;
  outermost.outermost = true;
  CHECK(describe_layout(Cpu::x64, outermost) ==
        std::vector<std::string>{"the outermost frame: it has no caller"});
}
